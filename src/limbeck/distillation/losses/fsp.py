"""Match how the teacher gets from one layer to a higher one: flow of the solution procedure."""

from torch import Tensor

from limbeck.distillation.losses.padding import real_tokens, without_padding
from limbeck.distillation.losses.precision import in_full_precision
from limbeck.distillation.losses.shapes import must_match


@in_full_precision
def fsp(
    student_lower: Tensor, student_upper: Tensor, teacher_lower: Tensor, teacher_upper: Tensor, mask: Tensor
) -> Tensor:
    """Mean squared difference between the products of two layers.

        G = lowerᵀ · upper / real tokens of the row    (width × width)
        loss = mean over rows and cells of G of  (G_student - G_teacher)²

    Yim et al. 2017 ("A Gift from Knowledge Distillation", CVPR, equations 1 and 2), with tokens for the places of a
    picture; they sum over the cells of G where this takes the mean. Takes states (rows, tokens, width), of one width in
    student and teacher (the caller projects), and a mask (rows, tokens).
    """
    must_match(student_lower, teacher_lower)
    must_match(student_upper, teacher_upper)
    difference = _flow(student_lower, student_upper, mask) - _flow(teacher_lower, teacher_upper, mask)
    return difference.square().mean()


def _flow(lower: Tensor, upper: Tensor, mask: Tensor) -> Tensor:
    """The product of the two layers, a mean over the row's real tokens: (rows, width, width)."""
    real = real_tokens(mask)
    tokens = real.sum(dim=1, keepdim=True).clamp(min=1)  # (rows, 1, 1)
    return without_padding(lower, real).transpose(1, 2) @ without_padding(upper, real) / tokens
