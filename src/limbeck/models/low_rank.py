"""A table of word vectors as a product of two smaller ones, as near to it as can be."""

import torch
from torch import Tensor


def low_rank(vectors: Tensor, *, rank: int) -> tuple[Tensor, Tensor]:
    """(words, rank) and (width, rank) with `first @ second.T` ≈ vectors (words, width).

    No other product of that shape has a smaller sum of squared differences (Eckart and Young 1936): the second is the
    leading right singular vectors, the first what the vectors are along them. A vector of zeros stays one. Signs are
    fixed (the largest weight of each axis is positive), so that the same vectors give the same product.
    """
    exact = vectors.double()
    # Axes of the products of columns: their number is the vectors' width, whatever the number of words.
    _, axes = torch.linalg.eigh(exact.T @ exact)
    axes = axes.flip(1)[:, :rank]  # the largest first
    axes = axes * axes.gather(0, axes.abs().argmax(dim=0)[None, :]).sign()
    return (exact @ axes).to(vectors.dtype), axes.to(vectors.dtype)
