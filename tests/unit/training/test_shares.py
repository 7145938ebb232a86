"""Shares of a batch: every row once, and means that add up to the mean of the whole."""

import numpy as np
import pytest
import torch

from limbeck.training.shares import ALONE, Share, from_first_process, share_of_group

LENGTHS = np.array([3, 1, 4, 1, 5, 9, 2], dtype=np.int64)


def shares(processes: int) -> list[Share]:
    return [Share(rank, processes) for rank in range(processes)]


def test_rows_are_dealt_out_and_nobody_is_without_one() -> None:
    places = np.array([7, 2, 9, 4])

    assert [share.own(places).tolist() for share in shares(3)] == [[7, 4], [2], [9]]
    assert [share.own(places[:1]).tolist() for share in shares(3)] == [[7], [7], [7]]
    assert [share.count(4) for share in shares(3)] == [2, 1, 1]
    assert [share.count(1) for share in shares(3)] == [1, 0, 0]


@pytest.mark.parametrize("unit", ["rows", "tokens", "pairs"])
def test_weighted_means_of_the_parts_are_the_mean_of_the_whole(unit: str) -> None:
    """Hand-worked for tokens and two processes: 2 · (3 + 4 + 5 + 2) / 25 = 1.12, and 2 · (1 + 1 + 9) / 25 = 0.88."""
    units = {"rows": np.ones(7), "tokens": LENGTHS, "pairs": LENGTHS**2}[unit]
    values = np.random.default_rng(0).random(7)  # of each row, the mean over its units

    for processes in (2, 3, 8):
        parts = []
        for share in shares(processes):
            own = share.own(np.arange(7))
            mean = (values[own] * units[own]).sum() / units[own].sum()
            parts.append(share.weights(LENGTHS)[unit] * mean)
        assert np.mean(parts) == pytest.approx((values * units).sum() / units.sum())
    assert [share.weights(LENGTHS)["tokens"] for share in shares(2)] == pytest.approx([1.12, 0.88])


def test_one_process_has_all_rows_and_nothing_to_weigh() -> None:
    outputs = torch.randn(3, 2, requires_grad=True)

    assert share_of_group() == ALONE
    assert ALONE.whole(outputs, rows=3) is outputs
    assert ALONE.own(np.array([5, 6])).tolist() == [5, 6]
    assert ALONE.weights(LENGTHS) == {}
    assert ALONE.weight(LENGTHS) == 1.0
    assert from_first_process(lambda: "found") == "found"
