"""Which rows an exported file is compared on."""

import numpy as np
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.errors import TooFewRows
from limbeck.export.parity import runtime_rows, sample, spread


def rows_of(*texts: str, pairs: list[str] | None = None) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts, pairs=pairs)


def test_the_sample_is_spread_over_all_rows() -> None:
    rows = rows_of(*(str(number) for number in range(101)))

    assert sample(rows, most=5).ids == ["0", "25", "50", "75", "100"]
    assert sample(rows, most=101).ids == sample(rows, most=1000).ids == rows.ids


def test_the_shortest_and_the_longest_are_among_them_wherever_they_are() -> None:
    texts = ["word"] * 1000
    texts[333], texts[444] = "", "word " * 50

    found = sample(rows_of(*texts), most=100)

    assert {"333", "444"} <= set(found.ids)
    assert len(set(found.ids)) == 100
    assert np.diff(np.array(found.ids, dtype=int)).max() < 30


def test_rows_that_are_asked_about_anyhow_come_first_where_there_are_enough() -> None:
    rows, even = rows_of(*["word"] * 1000), np.arange(0, 1000, 2)

    chosen = {int(number) for number in sample(rows, most=100, among=even).ids}
    of_few = {int(number) for number in sample(rows, most=100, among=even[:99]).ids}

    ends = {0, 1, 998, 999}  # all are as long, so the first count as the shortest
    assert len(chosen) == 100
    assert chosen - ends <= set(even.tolist())
    assert not of_few - ends <= set(even.tolist())


def test_the_same_rows_are_chosen_every_time() -> None:
    rows = rows_of(*("word " * (number % 17) for number in range(400)))

    assert sample(rows, most=100).ids == sample(rows, most=100).ids


def test_there_must_be_a_row_to_compare_on() -> None:
    with pytest.raises(TooFewRows, match="0 rows"):
        sample(rows_of(), most=5)


def test_few_positions_are_taken_all() -> None:
    assert spread(np.array([3, 5, 9]), 10).tolist() == [3, 5, 9]
    assert spread(np.array([], dtype=np.int64), 10).tolist() == []


def test_pairs_are_asked_about_as_pairs() -> None:
    assert runtime_rows(rows_of("a", "b")) == ["a", "b"]
    assert runtime_rows(rows_of("a", "b", pairs=["c", "d"])) == [("a", "c"), ("b", "d")]
