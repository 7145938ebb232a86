"""Scaled dot products of queries and keys."""

import numpy as np
import torch

from limbeck.distillation.losses.layers import attention_scores


def test_hand_worked_value() -> None:
    queries = torch.tensor([[[[2.0, 0.0, 0.0, 0.0], [0.0, 6.0, 0.0, 0.0]]]])  # a width of four: √4 = 2
    keys = torch.tensor([[[[1.0, 1.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]]]])

    assert attention_scores(queries, keys).tolist() == [[[[1.0, 3.0], [3.0, 0.0]]]]


def test_each_row_and_head_is_by_itself() -> None:
    random = np.random.default_rng(0)
    queries, keys = random.normal(size=(2, 3, 5, 4)), random.normal(size=(2, 3, 5, 4))

    scores = attention_scores(torch.tensor(queries), torch.tensor(keys))

    assert scores.dtype == torch.float32
    for row, head in np.ndindex(2, 3):
        expected = queries[row, head] @ keys[row, head].T / 2.0
        np.testing.assert_allclose(scores[row, head].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_half_precision_does_not_overflow() -> None:
    large = torch.full((1, 1, 1, 4), 300.0, dtype=torch.float16)

    assert attention_scores(large, large).item() == 4 * 300.0**2 / 2  # above the largest half, 65,504
