"""A row's neighbours to the student shall be its neighbours to the teacher."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.off_diagonal import off_diagonal
from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.unit_vectors import unit_vectors

LEAST_LIKENESS = 1e-6  # opposite rows: their logarithm stays finite


@in_full_precision
def pkt(student_features: Tensor, teacher_features: Tensor) -> Tensor:
    """Probabilistic knowledge transfer: KL between the chances of each row to pick each other row.

        K_ij = (1 + cos(f_i, f_j)) / 2    p_j|i = K_ij / Σ_{k≠i} K_ik    p the teacher's, q the student's
        loss = mean over rows i of  Σ_{j≠i} p_j|i · log(p_j|i / q_j|i)

    Passalis & Tefas 2018 (arXiv:1803.10837). Features may have any two widths. The authors' code
    counts a row among its own neighbours and takes the mean over all b² cells: its loss is some b times smaller. One
    or two rows have no choice and give zero.
    """
    if len(student_features) < 2:
        return student_features.sum() * 0  # part of the graph, so that a step on it alone is possible
    p, q = _neighbours(teacher_features), _neighbours(student_features)
    return F.kl_div(q.log(), p.log(), reduction="batchmean", log_target=True)


def _neighbours(features: Tensor) -> Tensor:
    """(rows, rows - 1): what each row gives to each other one; sums to one."""
    directions = unit_vectors(features)
    likeness = off_diagonal((1 + directions @ directions.T) / 2) + LEAST_LIKENESS
    return likeness / likeness.sum(dim=-1, keepdim=True)
