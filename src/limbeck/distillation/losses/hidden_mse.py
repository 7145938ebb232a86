"""Match the teacher's hidden states."""

from torch import Tensor

from limbeck.distillation.losses.padding import mean_over, real_tokens, without_padding
from limbeck.distillation.losses.shapes import must_match


def hidden_mse(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference of hidden states.

        loss = mean over real tokens and width of  (student - teacher)²

    TinyBERT's hidden-state loss (Jiao et al. 2020, arXiv:1909.10351, equation 8), and with embeddings for states its
    embedding loss (equation 9); the learned projection to the teacher's width is the caller's. Their mean runs over
    padding too, so that it depends on how rows are batched. Takes (rows, tokens, width) and a mask (rows, tokens).
    """
    must_match(student, teacher)
    real = real_tokens(mask)
    difference = without_padding(student.float() - teacher.float(), real)
    return mean_over(real, difference.square())
