"""Rows that are alike to the teacher shall be alike to the student."""

from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.unit_vectors import unit_vectors


@in_full_precision
def spkd(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Similarity-preserving distillation: squared distance between the two matrices of similarities in a batch.

        G = F Fᵀ, each row of G divided by its L2 norm    (rows, rows)
        loss = 1/b² · ‖ G_teacher - G_student ‖²_F        for b rows

    Tung & Mori 2019 (arXiv:1907.09682). Only similarities count: features may have any two widths,
    and turning them or adding zeros changes nothing. The loss shrinks with the batch (a row of G has norm 1 over b
    cells), hence large weights: the authors have 3000. A row of zeros is like no row; one row alone gives zero.
    """
    return (_similarities(teacher_features) - _similarities(student_features)).square().mean()


def _similarities(features: Tensor) -> Tensor:
    return unit_vectors(features @ features.T)
