"""The curve of a first student against the texts that a language model was asked about."""

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from limbeck.report.plots import accuracy_against_texts

TextsOf = Callable[[str | None], list[str]]
SVG = "{http://www.w3.org/2000/svg}"


def report(**facts: Any) -> dict[str, Any]:
    points = [{"asked": 100 * 2**n, "accuracy": 0.6 + 0.05 * n} for n in range(5)]
    return {"labelled_by": {"model": "tiny", "checked": 0, "right_of_checked": None, "curve": points, **facts}}


def marks_of(drawn: str, name: str) -> int:
    group = next(part for part in ElementTree.fromstring(drawn).iter(f"{SVG}g") if part.get("id") == f"asking-{name}")
    return len(list(group.iter(f"{SVG}use")))


def test_a_curve_has_a_mark_for_every_round_and_the_sizes_below_it(texts_of: TextsOf) -> None:
    drawn = accuracy_against_texts(report())

    assert drawn is not None
    assert marks_of(drawn, "accuracy") == 5
    assert {"100", "200", "1,600", "agrees with tiny"} <= set(texts_of(drawn))
    assert "currentColor" in drawn
    assert "the model itself" not in texts_of(drawn)


def test_what_a_person_has_labelled_is_a_second_line_and_the_model_a_level(texts_of: TextsOf) -> None:
    points = [{"asked": 100 * 2**n, "accuracy": 0.6, "right": 0.5} for n in range(3)]

    drawn = accuracy_against_texts(report(curve=points, checked=40, right_of_checked=0.9))

    assert drawn is not None
    assert marks_of(drawn, "right") == 3
    assert {"the model itself", "right, by what a person labelled"} <= set(texts_of(drawn))


def test_one_round_is_no_curve() -> None:
    assert accuracy_against_texts(report(curve=[{"asked": 9, "accuracy": 0.5}])) is None
    assert accuracy_against_texts(report(curve=[{"asked": 9, "accuracy": None}] * 4)) is None
    assert accuracy_against_texts({"labelled_by": None}) is None
