"""The lines that are printed about the rows of each class."""

from typing import Any

import pytest

from limbeck.artifacts.corpus import rarest_and_most_frequent
from limbeck.corpus.balance import balance_lines


def facts(train: dict[str, int], *, rows: int, **others: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "multi_label": False,
        "class_weights": None,
        "class_weights_capped": [],
        "rows_with_equal_values": 0,
        "rows_without_label": {"train": 0},
    }
    return {**usual, "rows": {"train": rows}, "rows_per_label": {"train": train}, **others}


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"a": 100, "b": 9, "c": 50}, ("b", "a")),
        ({"a": 100, "b": 10}, None),
        ({"a": 100, "b": 0, "c": 90}, None),
        ({"a": 0}, None),
    ],
)
def test_classes_are_uneven_below_a_tenth_of_the_most_frequent_and_empty_classes_are_ignored(
    counts: dict[str, int], found: tuple[str, str] | None
) -> None:
    assert rarest_and_most_frequent(counts) == found


def test_uneven_classes_are_reported_with_the_key_that_helps() -> None:
    (line,) = balance_lines(facts({"ham": 300, "[spam]": 12}, rows=312))

    assert "class_weights" in line
    assert "ham with 300" in line
    assert "[spam] with 12" in line


def test_uneven_classes_that_have_weights_are_not_reported() -> None:
    assert balance_lines(facts({"ham": 300, "spam": 12}, rows=312, class_weights=[1.0, 5.0])) == []


def test_a_class_that_no_row_has_is_reported() -> None:
    (line,) = balance_lines(facts({"a": 5, "b": 5, "c": 0}, rows=10))

    assert "no training row has 'c'" in line


def test_with_several_labels_classes_that_every_row_or_no_row_has_are_reported() -> None:
    lines = balance_lines(facts({"a": 10, "b": 4, "c": 0}, rows=10, multi_label=True, rows_without_label={"train": 3}))

    assert len(lines) == 3
    assert "no training row has 'c'" in lines[0]
    assert "every training row has 'a'" in lines[1]
    assert "3 training rows have no label" in lines[2]


def test_capped_weights_and_ties_are_reported() -> None:
    printed = "\n".join(
        balance_lines(
            facts(
                {"a": 500, "b": 1},
                rows=900,
                multi_label=True,
                class_weights=[0.8, 100.0],
                class_weights_capped=["b"],
                rows_with_equal_values=2,
            )
        )
    )

    assert "'b' is capped at 100" in printed
    assert "in 2 rows" in printed
