"""Means over real tokens alone."""

import math

import torch

from limbeck.distillation.losses.parts import mean_over, real_pairs, real_tokens, without_padding

MASK = torch.tensor([[1, 1, 0], [1, 0, 0]])


def test_a_pair_is_real_when_both_of_its_tokens_are() -> None:
    expected = [
        [[True, True, False], [True, True, False], [False, False, False]],
        [[True, False, False], [False, False, False], [False, False, False]],
    ]

    assert real_pairs(MASK).tolist() == expected


def test_a_mean_counts_every_cell_of_a_real_token() -> None:
    values = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [[5.0, 9.0], [0.0, 0.0], [0.0, 0.0]]])

    assert mean_over(real_tokens(MASK), values).item() == (1 + 2 + 3 + 4 + 5 + 9) / 6


def test_values_on_padding_are_removed_even_if_they_are_nan() -> None:
    values = torch.tensor([[[1.0], [2.0], [math.nan]], [[3.0], [math.inf], [-math.inf]]], dtype=torch.float16)

    cleared = without_padding(values, real_tokens(MASK))

    assert cleared.dtype == torch.float32
    assert cleared[..., 0].tolist() == [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]]


def test_a_mean_over_nothing_is_zero() -> None:
    nothing = torch.zeros(1, 3, dtype=torch.bool)

    assert mean_over(nothing, torch.zeros(1, 3)).item() == 0.0
