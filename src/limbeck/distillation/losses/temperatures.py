"""Temperatures of single rows, from what student and teacher say of them; no gradient goes through them."""

from torch import Tensor
from torch.nn import functional as F

LOWEST_SHARE = 0.1  # of the base: a row far from the mean of its batch would get a temperature of zero or less
ALMOST_NOTHING = 1e-3  # added to a probability, as TextBrewer's code does


def flsw_temperatures(
    student_logits: Tensor, teacher_logits: Tensor, *, temperature: float, spread: float, power: float
) -> Tensor:
    """(rows, 1): lower than the base for rows on which the two disagree more than on average.

        w = (1 - cos(student, teacher))^γ    of the two vectors of logits
        T = base + β · (mean of w over the batch - w),    at least a tenth of the base

    Focal loss style weights: Wen et al. 2019 (arXiv:1911.07471, dynamic temperatures), as TextBrewer has them
    (Yang et al. 2020, arXiv:2002.12620): `flsw` with β = `spread` and γ = `power`. The lower bound is ours.
    """
    weights = (1 - F.cosine_similarity(student_logits.detach(), teacher_logits.detach(), dim=-1)).clamp(min=0) ** power
    return _around(weights, temperature=temperature, spread=spread)


def cwsm_temperatures(student_logits: Tensor, *, temperature: float, spread: float) -> Tensor:
    """(rows, 1): lower than the base for rows of which the student is less sure than on average.

        w = 1 / (max softmax(student) + 0.001)
        T = base + β · (mean of w over the batch - w),    at least a tenth of the base

    Confidence weighted by the student's maximum: the same paper and the same code, `cwsm` with β = `spread`.
    """
    surest = student_logits.detach().softmax(dim=-1).amax(dim=-1)
    return _around(1 / (surest + ALMOST_NOTHING), temperature=temperature, spread=spread)


def _around(weights: Tensor, *, temperature: float, spread: float) -> Tensor:
    temperatures = temperature + spread * (weights.mean() - weights)
    return temperatures.clamp(min=LOWEST_SHARE * temperature)[:, None]
