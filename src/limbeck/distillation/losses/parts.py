"""What several losses share: unit vectors, masks of padding, half precision, checks of shapes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

ROUNDING = 16  # a spread around the mean below this many machine epsilons counts as rounding


def unit_vectors(vectors: Tensor, *, dim: int = -1) -> Tensor:
    """v / ‖v‖₂ along `dim`; a vector of zeros stays zero and gets no gradient.

    PyTorch's `normalize` divides it by a tiny number: the gradient is finite, but at 1e12 it outweighs all others.
    """
    squares = vectors.square().sum(dim=dim, keepdim=True)
    is_nonzero = squares > 0
    return vectors * torch.where(is_nonzero, squares, 1.0).rsqrt() * is_nonzero


def centred_unit_vectors(vectors: Tensor, *, dim: int = -1) -> Tensor:
    """(v - mean v) / ‖v - mean v‖₂ along `dim`; zeros, without a gradient, where all values of v are equal.

    Equal means equal up to the rounding of the mean: otherwise a constant vector would give noise of length one.
    """
    centred = vectors - vectors.mean(dim=dim, keepdim=True)
    lengths = torch.linalg.vector_norm(vectors.detach(), dim=dim, keepdim=True)
    spreads = torch.linalg.vector_norm(centred.detach(), dim=dim, keepdim=True)
    is_spread = spreads > ROUNDING * torch.finfo(vectors.dtype).eps * lengths
    return unit_vectors(torch.where(is_spread, centred, 0.0), dim=dim)


def off_diagonal(matrix: Tensor) -> Tensor:
    """(n, n - 1): each row of an n × n matrix without its cell on the diagonal."""
    size = len(matrix)
    # Without its first cell the matrix splits into n - 1 pieces of n + 1 cells, each ending on the diagonal.
    return matrix.flatten()[1:].view(size - 1, size + 1)[:, :-1].reshape(size, size - 1)


def real_tokens(mask: Tensor) -> Tensor:
    """True on real tokens, as (rows, tokens, 1), which broadcasts over the width of states."""
    return mask.bool()[:, :, None]


def real_pairs(mask: Tensor) -> Tensor:
    """True where both tokens of a pair are real, as (rows, tokens, tokens)."""
    real = mask.bool()
    return real[:, :, None] & real[:, None, :]


def without_padding(values: Tensor, real: Tensor) -> Tensor:
    """The values in float32, with zeros on padding.

    Padding is overwritten, not multiplied by zero: it may hold anything, and zero times infinity is NaN.
    """
    return values.float().masked_fill(~real, 0.0)


def mean_over(real: Tensor, values: Tensor) -> Tensor:
    """Mean of the values where `real` is true, which must be zero elsewhere; zero where nothing is real."""
    cells_for_each = values.numel() // max(real.numel(), 1)
    return values.sum() / (real.sum() * cells_for_each).clamp(min=1)


Loss = TypeVar("Loss", bound=Callable[..., Tensor])


def in_full_precision(loss: Loss) -> Loss:
    """The same loss with tensors of half precision widened to float32 on entry, and autocast off inside.

    A logarithm, a root or a sum of squares in bfloat16 has two or three digits, and autocast would compute matrix
    products in it again. Float64 and integers (labels) stay as they are.
    """

    @wraps(loss)
    def widened(*arguments: Any, **options: Any) -> Tensor:
        device = next(value.device for value in [*arguments, *options.values()] if isinstance(value, Tensor))
        with torch.autocast(device.type, enabled=False):
            return loss(*map(_wide, arguments), **{name: _wide(value) for name, value in options.items()})

    return cast(Loss, widened)


def _wide(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.to(torch.promote_types(value.dtype, torch.float32))
    return value


def must_match(student: Tensor, teacher: Tensor) -> None:
    """Raise ValueError unless both have the same shape."""
    if student.shape != teacher.shape:
        raise ValueError(f"student {tuple(student.shape)} and teacher {tuple(teacher.shape)} must have the same shape")
