"""Which tokens are real, and means in which padding has no part."""

from torch import Tensor


def real_tokens(mask: Tensor) -> Tensor:
    """True on real tokens, as (rows, tokens, 1): it spreads over the width of states."""
    return mask.bool()[:, :, None]


def real_pairs(mask: Tensor) -> Tensor:
    """True where both tokens of a pair are real, as (rows, tokens, tokens)."""
    real = mask.bool()
    return real[:, :, None] & real[:, None, :]


def without_padding(values: Tensor, real: Tensor) -> Tensor:
    """The values in float32, with zeros on padding.

    They are put there, not multiplied in: padding may hold anything, and zero times infinity is no number.
    """
    return values.float().masked_fill(~real, 0.0)


def mean_over(real: Tensor, values: Tensor) -> Tensor:
    """Mean of the values where `real` is true, which must be zero elsewhere; zero where nothing is real."""
    cells_for_each = values.numel() // max(real.numel(), 1)
    return values.sum() / (real.sum() * cells_for_each).clamp(min=1)
