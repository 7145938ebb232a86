from typing import Any

import numpy as np
import pytest

from limbeck.errors import NothingToPredict
from limbeck.runtime.row import characters, checked_rows, columns_of, refuse_no_list, stripped


class Masked(str):
    """A string whose `str()` is something else, as that of an enumeration is."""

    def __str__(self) -> str:
        return "***"


class DataFrame:
    """As pandas has it: iterating gives the names of the columns."""

    columns = ("text", "label")

    def __iter__(self) -> Any:
        return iter(self.columns)


@pytest.mark.parametrize("rows", ["a film", np.str_("a film"), b"a film", {"text": "a film"}, 7, None, np.array("a")])
def test_a_lone_thing_instead_of_a_list_is_refused(rows: Any) -> None:
    with pytest.raises(NothingToPredict, match=r"predict\(\[text\]\)"):
        refuse_no_list(rows, pair=False)


@pytest.mark.parametrize(
    ("pair", "advice"), [(False, "predict(table['text'])"), (True, "predict(zip(table['text'], table['other']))")]
)
def test_a_whole_table_is_refused_because_its_rows_would_be_column_names(pair: bool, advice: str) -> None:
    with pytest.raises(NothingToPredict, match="a list of rows, not a DataFrame") as refusal:
        refuse_no_list(DataFrame(), pair=pair)

    assert advice in str(refusal.value)


@pytest.mark.parametrize(
    "rows", [[], (), iter("ab"), {"a": 1}.values(), {"a"}, np.array(["a"]), zip("ab", "cd", strict=True)]
)
def test_anything_that_gives_rows_will_do(rows: Any) -> None:
    refuse_no_list(rows, pair=False)


@pytest.mark.parametrize(
    ("wrong", "described"),
    [
        (None, "None"),
        (float("nan"), "NaN, a missing value"),
        (np.float32("nan"), "NaN, a missing value"),
        (1.5, "a float"),
        (7, "an int"),
        (b"film", "a bytes"),
        (bytearray(b"film"), "a bytearray"),
        (("a", "b"), r"a tuple of 2 \(str, str\)"),
        (["a"], r"a list of 1 \(str\)"),
        (np.array(["a", "b"]), r"a ndarray of 2 \(str_, str_\)"),
    ],
)
def test_a_row_that_is_no_text_is_refused_with_its_position(wrong: Any, described: str) -> None:
    with pytest.raises(NothingToPredict, match=rf"row 1 \(counted from 0\) is {described}, not a text"):
        checked_rows(["fine", wrong], pair=False)


@pytest.mark.parametrize("wrong", ["ab", ("a",), ("a", "b", "c"), ("a", None), [1, 2], {"a", "b"}, np.array(["a"])])
def test_a_row_that_is_no_pair_is_refused_by_a_model_of_pairs(wrong: Any) -> None:
    with pytest.raises(NothingToPredict, match=r"row 0 .* not a pair of texts"):
        checked_rows([wrong], pair=True)


def test_positions_are_counted_on_from_earlier_rows() -> None:
    with pytest.raises(NothingToPredict, match=r"row 4,097 "):
        checked_rows(["fine", None], pair=False, first=4_096)


@pytest.mark.parametrize("text", [np.array(["a film"])[0], Masked("a film")])
def test_texts_of_a_derived_type_become_plain_ones(text: Any) -> None:
    (single,) = checked_rows([text], pair=False)
    (pair,) = checked_rows([(text, "other")], pair=True)

    assert type(single) is type(pair[0]) is str
    assert single == pair[0] == text


@pytest.mark.parametrize(
    "rows", [[["a", "b"], ("c", "d")], np.array([["a", "b"], ["c", "d"]]), np.array([["a", "b"], ["c", "d"]], object)]
)
def test_pairs_may_be_lists_as_json_gives_them_or_rows_of_an_array(rows: Any) -> None:
    assert checked_rows(rows, pair=True) == [("a", "b"), ("c", "d")]


def test_rows_turn_into_one_column_for_each_text() -> None:
    assert columns_of(["a", "b"]) == [["a", "b"]]
    assert columns_of([("a", "b"), ("c", "d")]) == [["a", "c"], ["b", "d"]]


def test_white_space_around_texts_makes_no_difference_as_in_training() -> None:
    """Byte-level tokenizers make another token of a word behind a blank."""
    assert columns_of([" a b\n", "\u3000c\t"]) == [["a b", "c"]]
    assert columns_of([(" a", "b ")]) == [["a"], ["b"]]
    assert (stripped(" a "), stripped((" a", "b "))) == ("a", ("a", "b"))


def test_both_texts_of_a_pair_are_counted() -> None:
    assert characters("four") == 4
    assert characters(("four", "seven..")) == 11
