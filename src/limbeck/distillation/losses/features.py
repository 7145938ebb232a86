"""Losses on features: one vector per text, from student and teacher."""

import torch
from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.parts import in_full_precision, must_match, off_diagonal, unit_vectors

EPSILON = 1e-7  # the authors' code adds it to denominators


@in_full_precision
def agreements(vectors: Tensor, bank: Tensor, chosen: Tensor, *, temperature: float) -> Tensor:
    """(rows, chosen): exp(⟨v, u⟩ / τ) of each row's vector with the vectors of the bank at these places.

    All cosines are computed, and then chosen from: to gather thousands of vectors for each row would take more memory.
    """
    return (vectors @ bank.T).gather(1, chosen).div(temperature).exp()


@in_full_precision
def crd(student_densities: Tensor, teacher_densities: Tensor, *, bank_rows: int) -> Tensor:
    """Noise-contrastive estimation of which vector of the other model belongs to the same row, from both sides.

        P = exp(⟨v, u⟩ / τ) / Z    h = P / (P + N/M)    N drawn rows, M rows in the bank
        side = - mean over rows of  log h(own) + Σ over the N drawn of  log(1 - h(drawn))
        loss = side(the student's v among the teacher's u) + side(the teacher's v among the student's u)

    Contrastive representation distillation, Tian et al. 2020 (arXiv:1910.10699, section 3; Z and the constants are
    those of their code: Z is M times the mean of all exponentials of the first batch, and stays as it is). Takes P
    twice, (rows, 1 + N), with the row's own in the first column. It is a sum over the drawn rows, not a mean.
    """
    must_match(student_densities, teacher_densities)
    drawn = student_densities.shape[1] - 1
    noise = drawn / bank_rows
    return _contrast(student_densities, noise=noise) + _contrast(teacher_densities, noise=noise)


def _contrast(densities: Tensor, *, noise: float) -> Tensor:
    shares = densities + noise + EPSILON
    own = (densities[:, 0] / shares[:, 0]).log()
    drawn = (noise / shares[:, 1:]).log().sum(dim=1)
    return -(own + drawn).mean()


@in_full_precision
def factor_transfer(student_factors: Tensor, teacher_factors: Tensor, *, power: float = 1) -> Tensor:
    """Distance in the p-norm between factors of unit length.

        loss = mean over rows of  ‖ F_teacher / ‖F_teacher‖₂ - F_student / ‖F_student‖₂ ‖_p

    Kim et al. 2018 (arXiv:1802.04977), p = 1. It is a sum over the width of the factors and a mean over
    rows only. Other code takes a mean over the width as well: at a width of 384 that makes the loss 384 times smaller
    for the same weight. Takes (rows, factors) from the teacher's paraphraser and from the student's translator
    (limbeck.distillation.paraphraser). Factors that are all zero get no gradient.
    """
    must_match(student_factors, teacher_factors)
    differences = unit_vectors(teacher_factors) - unit_vectors(student_factors)
    distances: Tensor = torch.linalg.vector_norm(differences, ord=power, dim=-1)  # (rows)
    return distances.mean()


@in_full_precision
def feature_cosine(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """One minus the cosine between the features of student and teacher.

        loss = mean over rows of  1 - ⟨student, teacher⟩ / (‖student‖₂ · ‖teacher‖₂)

    The third term of DistilBERT, Sanh et al. 2019 (arXiv:1910.01108, section 2). Both features have the same width. A
    row of zeros has no direction: its loss is 1 and it gets no gradient.
    """
    must_match(student_features, teacher_features)
    return 1 - (unit_vectors(student_features) * unit_vectors(teacher_features)).sum(dim=-1).mean()


@in_full_precision
def hint(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Mean squared difference of features.

        loss = mean over rows and width of  (student - teacher)²

    FitNets, Romero et al. 2015 (arXiv:1412.6550, equation 3; their ½ and their sum over the width are left to the
    weight). Both features have the same width: the caller maps the student's with a learned projection.
    """
    must_match(student_features, teacher_features)
    return F.mse_loss(student_features, teacher_features)


MIN_SIMILARITY = 1e-6  # keeps the logarithm finite for rows in opposite directions


@in_full_precision
def pkt(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Probabilistic knowledge transfer: KL between each row's probabilities of picking the other rows.

        K_ij = (1 + cos(f_i, f_j)) / 2    p_j|i = K_ij / Σ_{k≠i} K_ik    p the teacher's, q the student's
        loss = mean over rows i of  Σ_{j≠i} p_j|i · log(p_j|i / q_j|i)

    Passalis & Tefas 2018 (arXiv:1803.10837). The two widths may differ. The authors' code counts a row as its own
    neighbour and takes the mean over all b² cells: its loss is about b times smaller. A batch of one or two rows gives
    zero.
    """
    if len(student_features) < 2:
        return student_features.sum() * 0  # part of the graph, so that a step on it alone is possible
    p, q = _neighbours(teacher_features), _neighbours(student_features)
    return F.kl_div(q.log(), p.log(), reduction="batchmean", log_target=True)


def _neighbours(features: Tensor) -> Tensor:
    """(rows, rows - 1): each row's probabilities over the other rows; each row sums to one."""
    directions = unit_vectors(features)
    similarities = off_diagonal((1 + directions @ directions.T) / 2) + MIN_SIMILARITY
    return similarities / similarities.sum(dim=-1, keepdim=True)


def rkd(student_features: Tensor, teacher_features: Tensor, *, distance_weight: float, angle_weight: float) -> Tensor:
    """Relational distillation: `distance_weight` · rkd_distance + `angle_weight` · rkd_angle.

    Park et al. 2019 (arXiv:1904.05068, section 3). Angles need memory for rows³ numbers; with weight 0 they are not
    computed.
    """
    total = distance_weight * rkd_distance(student_features, teacher_features)
    return total + angle_weight * rkd_angle(student_features, teacher_features) if angle_weight else total


@in_full_precision
def rkd_distance(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Huber loss between distances of rows, each model's divided by their mean.

        ψ_ij = ‖f_i - f_j‖₂ / mean over pairs i ≠ j of ‖f_i - f_j‖₂
        loss = mean over pairs i ≠ j of  huber(ψ_ij of the student - ψ_ij of the teacher)     with δ = 1

    Relational distillation, Park et al. 2019 (arXiv:1904.05068, section 3; their sum over pairs is a mean
    here, so that the weight does not depend on the batch size). Widths and scales of the features may differ. One or
    two rows give zero; equal rows get no gradient from each other.
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
    The two widths may differ. Three rows of which two are equal, for the student or for the teacher, have no angle and
    are skipped. One or two rows give zero. Needs memory for rows³ numbers.
    """
    student, student_defined = _angles(student_features)
    teacher, teacher_defined = _angles(teacher_features)
    both_defined = student_defined & teacher_defined
    cells = F.huber_loss(student, teacher, reduction="none") * both_defined
    return cells.sum() / both_defined.sum().clamp(min=1)


def _distances(features: Tensor) -> Tensor:
    """(rows, rows), computed from differences: from dot products, equal rows would not be exactly zero apart."""
    return torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")


def _relative_distances(features: Tensor) -> Tensor:
    distances = off_diagonal(_distances(features))
    mean = distances.mean()
    return distances / torch.where(mean > 0, mean, 1.0)


def _angles(features: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, rows, rows) cosines at the middle row, by the law of cosines, and which of them are defined."""
    distances = _distances(features)
    squares = distances.square()
    # [j, i, k]: the two sides that meet at j, and the opposite side from i to k
    sides = distances[:, :, None] * distances[:, None, :]
    has_angle = (sides > 0) & (distances > 0)
    cosines = (squares[:, :, None] + squares[:, None, :] - squares) / (2 * torch.where(has_angle, sides, 1.0))
    return torch.where(has_angle, cosines, 0.0), has_angle


@in_full_precision
def spkd(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Similarity-preserving distillation: squared distance between the two matrices of similarities in a batch.

        G = F Fᵀ, each row of G divided by its L2 norm    (rows, rows)
        loss = 1/b² · ‖ G_teacher - G_student ‖²_F        for b rows

    Tung & Mori 2019 (arXiv:1907.09682). Only similarities matter: the two widths may differ, and a rotation or added
    zeros change nothing. The loss shrinks as the batch grows (a row of G has norm 1 over b cells), so it needs a large
    weight: the authors use 3000. A row of zeros has similarity 0 to every row; a batch of one row gives zero.
    """
    return (_similarities(teacher_features) - _similarities(student_features)).square().mean()


def _similarities(features: Tensor) -> Tensor:
    return unit_vectors(features @ features.T)


@in_full_precision
def vid(student_features: Tensor, teacher_features: Tensor, *, log_variance: Tensor) -> Tensor:
    """Negative log-likelihood of the teacher's features under a normal distribution around the student's.

        loss = ½ · mean over rows and width of  log σ² + (teacher - student)² / σ²

    Variational information distillation, Ahn et al. 2019 (arXiv:1904.05835), without the constant
    log 2π, and a mean over the width where they have a sum. `log_variance` (width) is learned: what the student cannot
    predict gets a large σ² and little weight. The loss is smallest where σ² equals the mean squared error, and may be
    negative. The caller projects the student's features to the teacher's width.
    """
    must_match(student_features, teacher_features)
    return 0.5 * (log_variance + (teacher_features - student_features).square() * (-log_variance).exp()).mean()
