"""Match the teacher's attention before its softmax."""

from torch import Tensor

from limbeck.distillation.losses.padding import mean_over, real_pairs, without_padding
from limbeck.distillation.losses.shapes import must_match


def attention_mse(student_scores: Tensor, teacher_scores: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference of attention scores, over pairs of real tokens.

        loss = mean over heads and pairs of real tokens of  (student - teacher)²

    TinyBERT's attention loss (Jiao et al. 2020, arXiv:1909.10351, equation 7), which takes scores before the softmax
    and needs as many heads in the student as in the teacher. Their code puts zeros on padded keys and takes the mean
    over all pairs; here padding is left out. Takes scores (rows, heads, tokens, tokens) and a mask (rows, tokens).
    """
    must_match(student_scores, teacher_scores)
    real = real_pairs(mask)[:, None]
    difference = without_padding(student_scores.float() - teacher_scores.float(), real)
    return mean_over(real, difference.square())
