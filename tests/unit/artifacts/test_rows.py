"""Rows keep id, text, pair and label together, and know a text by its content."""

from pathlib import Path

import numpy as np
import pytest

from limbeck.artifacts.rows import NO_LABEL, Rows, content_key, content_keys, joined

PAIRS = Rows.of(ids=["a", "b", "c"], texts=["eins", "", "三"], pairs=["x", "y\n", ""], labels=[1, 0, 2])


@pytest.mark.parametrize(
    "rows",
    [
        PAIRS,
        Rows.of(ids=["a"], texts=["single"]),
        Rows.of(ids=[], texts=[]),
        Rows.of(ids=[], texts=[], pairs=[], labels=[]),
    ],
    ids=["pairs", "single", "none", "no pairs"],
)
def test_rows_survive_the_round_trip(tmp_path: Path, rows: Rows) -> None:
    rows.save(tmp_path / "rows.arrow")

    loaded = Rows.load(tmp_path / "rows.arrow")

    assert len(loaded) == len(rows)
    assert loaded.ids == rows.ids
    assert loaded.texts == rows.texts
    assert loaded.pairs == rows.pairs
    assert loaded.labels.tolist() == rows.labels.tolist()
    assert loaded.keys.tolist() == rows.keys.tolist()


def test_the_same_rows_make_the_same_file(tmp_path: Path) -> None:
    PAIRS.save(tmp_path / "one.arrow")
    PAIRS.save(tmp_path / "two.arrow")

    assert (tmp_path / "one.arrow").read_bytes() == (tmp_path / "two.arrow").read_bytes()


def test_rows_without_labels_say_so() -> None:
    rows = Rows.of(ids=["a", "b"], texts=["one", "two"])

    assert rows.labels.tolist() == [NO_LABEL, NO_LABEL]
    assert rows.labels.dtype == np.int64
    assert rows.pairs is None


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        Rows.of(ids=["a", "b"], texts=["one"])


def test_a_selection_keeps_its_rows_together_in_the_order_asked_for() -> None:
    picked = PAIRS.select([2, 0])

    assert picked.ids == ["c", "a"]
    assert picked.texts == ["三", "eins"]
    assert picked.pairs == ["", "x"]
    assert picked.labels.tolist() == [2, 1]


def test_a_selection_of_nothing_is_empty() -> None:
    assert len(PAIRS.select([])) == 0
    assert PAIRS.select([]).ids == []


def test_joined_rows_stand_one_after_the_other() -> None:
    assert joined([PAIRS, PAIRS.select([1])]).ids == ["a", "b", "c", "b"]


def test_equal_texts_have_equal_keys_and_others_do_not() -> None:
    keys = content_keys(["film", "Film", "film", "film "])

    assert keys.shape == (4, 2)
    assert keys.dtype == np.uint64
    assert keys[0].tolist() == keys[2].tolist()
    assert len({tuple(key) for key in keys.tolist()}) == 3


def test_a_key_knows_where_the_text_ends_and_the_pair_begins() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("abc") != content_key("ab", "c")
    assert content_key("a\x01b", "c") != content_key("a", "b\x01c")  # even when the sign between them is in a text


def test_no_pair_is_not_an_empty_pair() -> None:
    assert content_key("a") != content_key("a", "")


def test_text_and_pair_are_not_interchangeable() -> None:
    assert content_key("a", "b") != content_key("b", "a")


def test_keys_of_pairs_are_those_of_each_row() -> None:
    keys = content_keys(["a", "b"], ["x", "y"])

    assert keys[1].tobytes() == content_key("b", "y")


def test_pairs_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        content_keys(["a", "b"], ["x"])


def test_no_rows_have_no_keys() -> None:
    assert content_keys([]).shape == (0, 2)
    assert content_keys([], []).shape == (0, 2)


def test_a_text_that_is_no_valid_unicode_has_a_key_all_the_same() -> None:
    assert len(content_key("broken \ud800 surrogate")) == 16


def test_keys_are_the_same_in_every_version() -> None:
    """Label stores on disk are found by them: changing them makes every teacher answer again."""
    assert content_key("a gorgeous film").hex() == "147efc27f4d7d67b29d7b66d1232915a"
    assert content_key("a gorgeous film", "好").hex() == "5c3ca2ee063aa00b59e2740482aa79f2"


def test_slices_follow_each_other_and_leave_nothing_out(tmp_path: Path) -> None:
    rows = Rows.of(ids=[str(number) for number in range(10)], texts=["x" * number for number in range(10)])
    rows.save(tmp_path / "rows.arrow")

    parts = [part.ids for part in Rows.load(tmp_path / "rows.arrow").slices(4)]

    assert parts == [["0", "1", "2", "3"], ["4", "5", "6", "7"], ["8", "9"]]


def test_keys_are_computed_without_keeping_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.artifacts.rows.ROWS_PER_SLICE", 2)
    PAIRS.save(tmp_path / "rows.arrow")
    rows = Rows.load(tmp_path / "rows.arrow")

    keys = rows.keys

    assert keys.tolist() == content_keys(PAIRS.texts, PAIRS.pairs).tolist()
    assert "texts" not in vars(rows)


@pytest.mark.parametrize("is_file", [True, False])
def test_texts_are_found_at_their_positions(tmp_path: Path, is_file: bool) -> None:
    PAIRS.save(tmp_path / "rows.arrow")
    rows = Rows.load(tmp_path / "rows.arrow") if is_file else PAIRS

    assert rows.texts_at(np.array([2, 0])) == (["三", "eins"], ["", "x"])
    assert rows.texts_at(np.array([], dtype=np.int64)) == ([], [])


def test_texts_without_pairs_are_found_at_their_positions() -> None:
    assert Rows.of(ids=["a", "b"], texts=["one", "two"]).texts_at(np.array([1])) == (["two"], None)


def test_a_row_is_as_long_as_both_its_texts_in_characters() -> None:
    assert PAIRS.characters.tolist() == [5, 2, 1]
    assert Rows.of(ids=["a"], texts=["三四"]).characters.tolist() == [2]


def test_texts_that_are_all_empty_are_read_from_the_file(tmp_path: Path) -> None:
    """Arrow writes no letters for them, and there is nothing in the file to point to."""
    Rows.of(ids=["a", "b"], texts=["", ""], pairs=["", ""]).save(tmp_path / "rows.arrow")

    rows = Rows.load(tmp_path / "rows.arrow")

    assert rows.texts_at(np.array([1, 0])) == (["", ""], ["", ""])
