"""Vectors of length one, with gradients that stay finite where there is no direction."""

import torch
from torch import Tensor

ROUNDING = 16  # multiples of the last digit below which a spread around the mean is taken for rounding


def unit_vectors(vectors: Tensor, *, dim: int = -1) -> Tensor:
    """v / ‖v‖₂ along `dim`; a vector of zeros stays one and gets no gradient.

    PyTorch's `normalize` divides by a tiny number there: a finite gradient, but one of 1e12 that drowns all others.
    """
    squares = vectors.square().sum(dim=dim, keepdim=True)
    is_there = squares > 0
    return vectors * torch.where(is_there, squares, 1.0).rsqrt() * is_there


def centred_unit_vectors(vectors: Tensor, *, dim: int = -1) -> Tensor:
    """(v - mean v) / ‖v - mean v‖₂ along `dim`; zeros, without a gradient, where all values of v are equal.

    Equal means equal up to the rounding of the mean: else a constant vector would give noise of length one.
    """
    centred = vectors - vectors.mean(dim=dim, keepdim=True)
    lengths = torch.linalg.vector_norm(vectors.detach(), dim=dim, keepdim=True)
    spreads = torch.linalg.vector_norm(centred.detach(), dim=dim, keepdim=True)
    is_spread = spreads > ROUNDING * torch.finfo(vectors.dtype).eps * lengths
    return unit_vectors(torch.where(is_spread, centred, 0.0), dim=dim)
