"""The cells of a square matrix that relate a row to another one."""

from torch import Tensor


def off_diagonal(matrix: Tensor) -> Tensor:
    """(n, n - 1): each row of an n × n matrix without its cell on the diagonal."""
    size = len(matrix)
    # Without its first cell the matrix falls into n - 1 pieces of n + 1 cells, each ending on the diagonal.
    return matrix.flatten()[1:].view(size - 1, size + 1)[:, :-1].reshape(size, size - 1)
