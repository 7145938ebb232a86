"""Match which tokens of a row are alike: neuron selectivity transfer."""

from torch import Tensor
from torch.nn import functional as F

from limbeck.distillation.losses.padding import mean_over, real_pairs, real_tokens, without_padding
from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def nst(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference between the similarities of tokens, over pairs of real tokens of a row.

        G = X Xᵀ  with each token's state in X divided by its length    (tokens × tokens)
        loss = mean over pairs of real tokens of  (G_student - G_teacher)²

    Huang & Wang 2017 (arXiv:1707.01219, section 4) compare the neurons of two layers by maximum mean discrepancy; with
    their squared kernel (x · y)² that is ‖G_student - G_teacher‖² for G = X Xᵀ / width, whatever the widths. They
    divide each neuron by its length over positions, and TextBrewer's version for text divides nothing; here each token
    is divided by its length, so that the loss sees neither the size nor a rotation of the states. Takes states
    (rows, tokens, width), where the width may differ, and a mask (rows, tokens).
    """
    difference = _similarities(student, mask) - _similarities(teacher, mask)
    return mean_over(real_pairs(mask), difference.square())


def _similarities(states: Tensor, mask: Tensor) -> Tensor:
    """Cosines between the tokens of each row, (rows, tokens, tokens); zero on padding."""
    unit = F.normalize(without_padding(states, real_tokens(mask)), dim=-1)
    return unit @ unit.transpose(-1, -2)
