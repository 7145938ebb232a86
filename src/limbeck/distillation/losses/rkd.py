"""Distances and angles between rows shall be the teacher's."""

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.off_diagonal import off_diagonal
from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def rkd_distance(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Huber loss between distances of rows, each side's divided by their mean.

        ψ_ij = ‖f_i - f_j‖₂ / mean over pairs i ≠ j of ‖f_i - f_j‖₂
        loss = mean over pairs i ≠ j of  huber(ψ_ij of the student - ψ_ij of the teacher)     with δ = 1

    Relational distillation, Park et al. 2019 (arXiv:1904.05068, section 3; their sum over pairs is a mean
    here, so that the weight does not depend on the batch). Features may have any two widths and scales. One or two
    rows give zero; equal rows get no gradient from each other.
    """
    if len(student_features) < 2:
        return student_features.sum() * 0  # part of the graph, so that a step on it alone is possible
    return F.huber_loss(_relative_distances(student_features), _relative_distances(teacher_features))


@in_full_precision
def rkd_angle(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Huber loss between the cosines of the angles that rows make with each other.

        cos_ijk = ⟨e_ij, e_kj⟩    e_ij = (f_i - f_j) / ‖f_i - f_j‖₂
        loss = mean over distinct i, j, k of  huber(cos_ijk of the student - cos_ijk of the teacher)     with δ = 1

    Relational distillation, Park et al. 2019 (arXiv:1904.05068, section 3; a mean instead of a sum).
    Features may have any two widths. There is no angle where two of three rows are equal for the student or for the
    teacher: such triples are left out. One or two rows give zero. It takes memory for rows³ numbers.
    """
    student, student_has = _angles(student_features)
    teacher, teacher_has = _angles(teacher_features)
    has_both = student_has & teacher_has
    cells = F.huber_loss(student, teacher, reduction="none") * has_both
    return cells.sum() / has_both.sum().clamp(min=1)


def _distances(features: Tensor) -> Tensor:
    """(rows, rows), from differences: from products they would not be exactly zero where rows are equal."""
    return torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")


def _relative_distances(features: Tensor) -> Tensor:
    distances = off_diagonal(_distances(features))
    mean = distances.mean()
    return distances / torch.where(mean > 0, mean, 1.0)


def _angles(features: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, rows, rows) cosines at the middle row, by the law of cosines, and which of them there are."""
    distances = _distances(features)
    squares = distances.square()
    # [j, i, k]: the sides that meet in j, and the side from i to k that lies opposite
    sides = distances[:, :, None] * distances[:, None, :]
    has_angle = (sides > 0) & (distances > 0)
    cosines = (squares[:, :, None] + squares[:, None, :] - squares) / (2 * torch.where(has_angle, sides, 1.0))
    return torch.where(has_angle, cosines, 0.0), has_angle
