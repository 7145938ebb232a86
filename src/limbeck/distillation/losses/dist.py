"""Match how the teacher's probabilities relate, not what they are."""

from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.unit_vectors import centred_unit_vectors


@in_full_precision
def dist(
    student_logits: Tensor,
    teacher_logits: Tensor,
    *,
    temperature: float = 1.0,
    between_classes: float = 1.0,
    within_classes: float = 1.0,
) -> Tensor:
    """One minus Pearson's correlation, over the classes of each row and over the rows of each class.

        p = softmax(teacher / T)    q = softmax(student / T)    both (rows, classes)
        between = mean over rows i of     1 - ρ(p_i·, q_i·)
        within  = mean over classes c of  1 - ρ(p_·c, q_·c)
        loss = β · between + γ · within

    Huang et al. 2022 (arXiv:2205.10536). Correlations do not shrink as T grows, so there is no T²
    (the authors' code has one). With two classes `between` is 0 or 2 for each row and teaches nothing. `within` wants
    batches of some size: of one row there is none, and it is zero. Where all values are equal ρ is taken as 0.
    Takes raw logits.
    """
    p = (teacher_logits / temperature).softmax(dim=-1)
    q = (student_logits / temperature).softmax(dim=-1)
    loss = between_classes * _one_minus_correlation(q, p, dim=1)
    if len(q) > 1:
        loss = loss + within_classes * _one_minus_correlation(q, p, dim=0)
    return loss


def _one_minus_correlation(student: Tensor, teacher: Tensor, *, dim: int) -> Tensor:
    correlations = (centred_unit_vectors(student, dim=dim) * centred_unit_vectors(teacher, dim=dim)).sum(dim=dim)
    return 1 - correlations.mean()
