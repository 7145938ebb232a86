import random

import pytest

from limbeck.runtime import batches
from limbeck.runtime.batches import BATCH_TOKENS, chunks_of, length_batches


def test_every_row_stands_in_exactly_one_batch() -> None:
    lengths = [(random.randint(1, 300),) for _ in range(500)]

    cut = length_batches(lengths)

    assert sorted(row for batch in cut for row in batch) == list(range(500))


@pytest.mark.parametrize("texts", [1, 2])
def test_a_padded_batch_stays_within_the_budget(texts: int) -> None:
    lengths = [tuple(random.randint(1, 300) for _ in range(texts)) for _ in range(500)]

    for batch in length_batches(lengths):
        widths = [max(lengths[row][text] for row in batch) for text in range(texts)]
        assert len(batch) * sum(widths) <= BATCH_TOKENS


def test_rows_of_like_length_go_together() -> None:
    lengths = [(2,), (100,), (2,), (100,)] * 20

    for batch in length_batches(lengths)[:-1]:
        assert len({lengths[row] for row in batch}) == 1


def test_a_row_longer_than_the_budget_gets_a_batch_of_its_own() -> None:
    assert length_batches([(3,), (BATCH_TOKENS + 1,), (3,)]) == [[1], [2, 0]]


def test_no_rows_make_no_batches() -> None:
    assert length_batches([]) == []
    assert list(chunks_of([])) == []


def test_chunks_are_bounded_in_rows_and_in_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK_ROWS", 3)
    monkeypatch.setattr(batches, "CHUNK_CHARACTERS", 10)

    assert list(chunks_of("abcdefg")) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert list(chunks_of(["a", "b" * 20, "c"])) == [["a", "b" * 20], ["c"]]


def test_chunks_read_no_further_than_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK_ROWS", 3)
    rows = iter("abcdefg")

    first = next(chunks_of(rows))

    assert first == ["a", "b", "c"]
    assert list(rows) == ["d", "e", "f", "g"]
