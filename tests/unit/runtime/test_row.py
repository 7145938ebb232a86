from typing import Any

import numpy as np
import pytest

from limbeck.errors import NothingToPredict
from limbeck.runtime.row import characters, checked_rows, columns_of


@pytest.mark.parametrize("rows", ["a film", b"a film", {"text": "a film"}, 7, None])
def test_a_lone_thing_instead_of_a_list_is_refused_at_once(rows: Any) -> None:
    with pytest.raises(NothingToPredict, match=r"predict\(\[text\]\)"):
        checked_rows(rows, pair=False)


@pytest.mark.parametrize(
    ("wrong", "described"),
    [
        (None, "None"),
        (float("nan"), "a float"),
        (b"film", "a bytes"),
        (("a", "b"), r"a tuple of 2 \(str, str\)"),
        (["a"], r"a list of 1 \(str\)"),
    ],
)
def test_a_row_that_is_no_text_is_refused_with_its_position(wrong: Any, described: str) -> None:
    with pytest.raises(NothingToPredict, match=rf"row 1 \(counted from 0\) is {described}, not a text"):
        list(checked_rows(["fine", wrong], pair=False))


@pytest.mark.parametrize("wrong", ["ab", ("a",), ("a", "b", "c"), ("a", None), [1, 2]])
def test_a_row_that_is_no_pair_is_refused_by_a_model_of_pairs(wrong: Any) -> None:
    with pytest.raises(NothingToPredict, match=r"row 0 .* not a pair of texts"):
        list(checked_rows([wrong], pair=True))


def test_any_iterable_of_texts_will_do() -> None:
    assert list(checked_rows((text for text in ("a", "b")), pair=False)) == ["a", "b"]
    assert list(checked_rows(np.array(["a", "b"]), pair=False)) == ["a", "b"]


def test_pairs_may_be_lists_as_json_gives_them() -> None:
    rows: Any = [["a", "b"], ("c", "d")]

    assert list(checked_rows(rows, pair=True)) == [("a", "b"), ("c", "d")]


def test_rows_turn_into_one_column_for_each_text() -> None:
    assert columns_of(["a", "b"]) == [["a", "b"]]
    assert columns_of([("a", "b"), ("c", "d")]) == [["a", "c"], ["b", "d"]]


def test_both_texts_of_a_pair_are_counted() -> None:
    assert characters("four") == 4
    assert characters(("four", "seven..")) == 11
