"""Padded batches cut from one tensor."""

import numpy as np
import pytest
import torch

from limbeck.training import token_rows
from limbeck.training.token_rows import TokenRows

ROWS = TokenRows.of([[[5, 6, 7], [8]], [[9, 10]]], device=torch.device("cpu"))


def test_a_batch_is_padded_to_its_longest_row_in_the_order_asked() -> None:
    ids, mask = ROWS.batch(np.array([1, 2]), pad=0)

    assert ids.tolist() == [[8, 0], [9, 10]]
    assert mask.tolist() == [[1, 0], [1, 1]]


def test_the_last_row_does_not_read_past_the_end() -> None:
    ids, mask = ROWS.batch(np.array([2, 0]), pad=3)

    assert ids.tolist() == [[9, 10, 3], [5, 6, 7]]
    assert mask.sum(dim=1).tolist() == [2, 3]


def test_rows_that_are_on_the_device_already_are_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([2, 0])
    expected = ROWS.batch(rows, pad=3)
    monkeypatch.delattr(token_rows, "sent")

    found = ROWS.padded(torch.from_numpy(rows), width=ROWS.width(rows), pad=3)

    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_rows_are_padded_as_wide_as_asked() -> None:
    ids, mask = ROWS.padded(torch.tensor([1, 2]), width=4, pad=3)

    narrow, _ = ROWS.batch(np.array([1, 2]), pad=3)
    assert ids[:, :2].equal(narrow)
    assert ids[:, 2:].tolist() == [[3, 3], [3, 3]]
    assert mask.sum(dim=1).tolist() == [1, 2]


def test_lengths_are_at_hand_without_asking_the_device() -> None:
    assert isinstance(ROWS.lengths, np.ndarray)
    assert ROWS.lengths.tolist() == [3, 1, 2]
    assert len(ROWS) == 3


def test_columns_that_are_made_side_by_side_stay_separate() -> None:
    blocks = [([[5, 6], [7]], [[0, 1], [0]]), ([[8]], [[1]])]

    ids, types = TokenRows.together(blocks, columns=2, device=torch.device("cpu"))
    (alone,) = TokenRows.together(blocks, columns=1, device=torch.device("cpu"))

    assert (ids.flat.tolist(), types.flat.tolist()) == ([5, 6, 7, 8], [0, 1, 0, 1])
    assert (alone.flat.tolist(), alone.lengths.tolist()) == ([5, 6, 7, 8], [2, 1, 1])
