import random
from typing import Any

import pytest

from limbeck.errors import NothingToPredict
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
    assert list(chunks_of([], pair=False)) == []


@pytest.mark.parametrize("rows_at_once", [1, 2, 16])
def test_chunks_are_bounded_in_rows_and_in_characters(monkeypatch: pytest.MonkeyPatch, rows_at_once: int) -> None:
    monkeypatch.setattr(batches, "CHUNK_ROWS", 5)
    monkeypatch.setattr(batches, "CHUNK_CHARACTERS", 10)
    monkeypatch.setattr(batches, "ROWS_AT_ONCE", rows_at_once)
    rows = [*"abcdefg", *["h" * 20] * 8]

    chunks = list(chunks_of(iter(rows), pair=False))

    assert [row for chunk in chunks for row in chunk] == rows
    assert chunks[0] == list("abcde")
    assert {len(chunk) for chunk in chunks[2:]} <= set(range(1, min(5, rows_at_once) + 1))


def test_both_texts_of_a_pair_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK_CHARACTERS", 10)
    monkeypatch.setattr(batches, "ROWS_AT_ONCE", 1)
    pairs = [("abc", "defg"), ("abc", "defg"), ("h", "i")]

    assert list(chunks_of(iter(pairs), pair=True)) == [pairs[:2], pairs[2:]]


def test_chunks_read_no_further_than_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK_ROWS", 3)
    rows = iter("abcdefg")

    first = next(iter(chunks_of(rows, pair=False)))

    assert first == ["a", "b", "c"]
    assert list(rows) == ["d", "e", "f", "g"]


def test_a_wrong_row_is_named_by_its_place_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK_ROWS", 3)
    rows = [*"abcdefg", None, "i"]

    with pytest.raises(NothingToPredict, match="row 7 "):
        list(chunks_of(iter(rows), pair=False))


@pytest.mark.parametrize("count", [1, 16, 17])
def test_a_few_rows_of_a_list_are_one_chunk_however_long_they_are(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK_CHARACTERS", 10)
    rows = ["a" * 20] * count

    chunks = list(chunks_of(rows, pair=False))

    assert [len(chunk) for chunk in chunks] == ([count] if count <= 16 else [16, 1])


@pytest.mark.parametrize("rows", ["a film", None, {"a": "b"}])
def test_what_is_no_list_of_rows_is_refused(rows: Any) -> None:
    with pytest.raises(NothingToPredict, match="list of rows"):
        chunks_of(rows, pair=False)
