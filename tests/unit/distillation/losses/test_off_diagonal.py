"""A square matrix without its diagonal."""

import torch

from limbeck.distillation.losses.parts import off_diagonal


def test_each_row_loses_its_own_cell_and_keeps_the_order() -> None:
    matrix = torch.tensor([[0, 1, 2], [3, 4, 5], [6, 7, 8]])

    assert off_diagonal(matrix).tolist() == [[1, 2], [3, 5], [6, 7]]


def test_one_cell_alone_leaves_nothing() -> None:
    assert off_diagonal(torch.ones(1, 1)).shape == (1, 0)
