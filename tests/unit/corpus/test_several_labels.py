"""Whether the cells of a column hold several labels each."""

import pytest

from limbeck.corpus.labelled import are_label_lists, find_other_separator, find_separator


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["food|price", "food", "price", ""], "|"),
        (["food; price", "price; teachers", "teachers", "food"], ";"),
        (["food, price", "price", "food"], ","),
        (["0,27", "27", "0", "0,3,27", "3"], ","),
    ],
)
def test_names_that_recur_in_different_combinations_are_labels(cells: list[str], separator: str) -> None:
    assert find_separator(cells * 10, most=50) == separator


@pytest.mark.parametrize(
    "cells",
    [
        ["good", "bad"],
        ["yes, always", "no, never", "maybe"],
        ["Paris, France", "Lyon, France", "Rome, Italy"],
        ["1,0", "1,5", "2,0", "2,5", "3,0", "3,5", "5,0"],
        ["we came, we saw", "it rained, we left", "we saw, we left"],
        ["", " "],
    ],
)
def test_names_that_only_contain_the_separator_are_one_label_each(cells: list[str]) -> None:
    assert find_separator(cells * 10, most=50) is None


def test_the_same_labels_in_another_order_are_the_same_combination() -> None:
    assert find_separator(["a|b", "b|a", "b | a"] * 10, most=50) is None


def test_a_single_unusual_row_does_not_make_a_separator() -> None:
    assert find_separator(["a", "b"] * 100 + ["a|b"], most=50) is None


def test_too_many_names_are_not_labels() -> None:
    cells = [f"{number}|{number + 1}" for number in range(60)] + [str(number) for number in range(60)]

    assert find_separator(cells, most=50) is None
    assert find_separator(cells, most=61) == "|"


@pytest.mark.parametrize("separator", [",", ";", "|", "/"])
def test_another_separator_is_found_in_labels_that_were_not_cut(separator: str) -> None:
    labels = [(f"food{separator}price",), ("food",), ("price",), ()] * 10

    assert find_other_separator(labels) == separator


@pytest.mark.parametrize(
    "labels",
    [
        [("food", "price"), ("food,price",), ("food",), ("price",)],
        [("food",), ("price",), ("tea/coffee",)],
        [("Paris, France",), ("Lyon, France",), ("Rome, Italy",)],
        [()],
    ],
)
def test_no_other_separator_is_found_if_rows_have_several_labels_or_names_do_not_recur(
    labels: list[tuple[str, ...]],
) -> None:
    assert find_other_separator(labels * 10) is None


@pytest.mark.parametrize(
    ("lists", "found"),
    [
        ([("a", "b"), ("a",), (), ("b",)], True),
        ([("a", "b"), ("c", "d")], False),
        ([("a",), ("a",)], False),
        ([("0", "1", "0"), ("1", "1", "0")], False),
        ([("0", "1"), ("1",), ("0",)], True),
        ([("x" * 80, "y"), ("x" * 80, "y" * 10)], False),
    ],
)
def test_lists_of_few_values_that_recur_are_labels(lists: list[tuple[str, ...]], found: bool) -> None:
    assert are_label_lists(lists, most=50) is found
