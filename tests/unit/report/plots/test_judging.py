"""Confusion, reliability, cascade and lengths: what is drawn, and what is left out."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.report import plots

TextsOf = Callable[[str | None], list[str]]


def of_classes(count: int) -> dict[str, Any]:
    """A model that takes every class for the next one once, and the first for the second seven times."""
    table = [[20 if said == true else int(said == true + 1) for said in range(count)] for true in range(count)]
    table[0][1] = 7
    return {"name": "m", "role": "student", "confusion": table}


@pytest.mark.parametrize(("count", "numbers"), [(2, 4), (10, 100), (11, 0), (30, 0)])
def test_few_classes_are_drawn_with_numbers_many_without(count: int, numbers: int, texts_of: TextsOf) -> None:
    labels = [f"class-{number}" for number in range(count)]

    shown = texts_of(plots.confusion(of_classes(count), labels=labels, name="c"))

    assert sum(text in ("20", "7", "1", "0") for text in shown) == numbers
    assert sum(text.startswith("class-") for text in shown) == 2 * count


def test_a_matrix_of_very_many_classes_is_not_drawn() -> None:
    labels = [str(number) for number in range(31)]

    assert plots.confusion(of_classes(31), labels=labels, name="c") is None


def test_long_class_names_are_cut(texts_of: TextsOf) -> None:
    shown = texts_of(plots.confusion(of_classes(2), labels=["a" * 40, "b"], name="c"))

    assert "a" * 13 + "…" in shown


def test_the_commonest_mistakes_come_first() -> None:
    labels = ["x", "y", "z"]

    assert plots.most_confused(of_classes(3), labels=labels, most=5) == [("x", "y", 7), ("y", "z", 1)]
    assert plots.most_confused({"confusion": None}, labels=labels, most=5) == []


def test_a_class_without_rows_can_be_drawn() -> None:
    entry = {"name": "m", "role": "student", "confusion": [[0, 0], [3, 4]]}

    assert plots.confusion(entry, labels=["x", "y"], name="c") is not None


def test_reliability_before_and_after_the_temperature(full_report: dict[str, Any], texts_of: TextsOf) -> None:
    shown = texts_of(plots.reliability(full_report["models"][:3]))

    assert {"bert-base-uncased", "bilstm", "bilstm, T = 1.42"} <= set(shown)
    assert "bert-base-uncased, scaled" not in shown


def test_a_single_bin_can_be_drawn(full_report: dict[str, Any]) -> None:
    entry = {**full_report["models"][2], "reliability": [{"confidence": 1.0, "accuracy": 1.0, "rows": 5}]}

    assert plots.reliability([entry]) is not None


def test_the_cheapest_point_of_the_cascade_is_marked(full_report: dict[str, Any], texts_of: TextsOf) -> None:
    assert "15 %, 13.7 ms" in texts_of(plots.cascade(full_report))

    full_report["cascade"]["cheapest"] = None

    assert not [text for text in texts_of(plots.cascade(full_report)) if "ms" in text]


def test_lengths_are_groups_of_words_or_of_chinese_characters(full_report: dict[str, Any], texts_of: TextsOf) -> None:
    english = texts_of(plots.accuracy_by_length(full_report))
    full_report["corpus"]["language"] = "zh"
    chinese = texts_of(plots.accuracy_by_length(full_report))

    assert "words in a text (and rows)" in english
    assert "characters in a text (and rows)" in chinese
    assert {"1–8", "(200)", "23–61"} <= set(english)


def test_a_group_that_a_model_said_nothing_of_is_a_gap(full_report: dict[str, Any]) -> None:
    full_report["models"][0]["by_length"][1]["accuracy"] = None

    assert plots.accuracy_by_length(full_report) is not None
