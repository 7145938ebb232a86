"""Accuracy against time or size: every model named, the front drawn, and a place for teachers of unknown cost."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.report.plots.against import SIZE, TIME, Cost, accuracy_against, accuracy_of_runs, front

TextsOf = Callable[[str | None], list[str]]
DASHES = "stroke-dasharray: 7.8,5.2"
both = pytest.mark.parametrize("cost", [TIME, SIZE], ids=["time", "size"])


@both
def test_every_model_is_named(report: dict[str, Any], texts_of: TextsOf, cost: Cost) -> None:
    shown = set(texts_of(accuracy_against(report, cost)))

    assert {*(entry["name"] for entry in report["models"]), cost.axis} <= shown


def test_the_front_holds_what_no_other_beats_in_both() -> None:
    points = [(1.0, 80.0), (2.0, 79.0), (2.0, 85.0), (3.0, 85.0), (50.0, 90.0), (60.0, 89.0)]

    assert front(points) == [(1.0, 80.0), (2.0, 85.0), (50.0, 90.0)]


def test_of_two_equally_fast_the_better_is_on_the_front_and_equals_count_once() -> None:
    assert front([(1.0, 70.0), (1.0, 80.0), (1.0, 80.0)]) == [(1.0, 80.0)]


@both
def test_the_front_is_drawn_where_it_has_two_ends(report: dict[str, Any], cost: Cost) -> None:
    assert f'id="{cost.name}-front"' in accuracy_against(report, cost)

    del report["models"][1:]

    assert f'id="{cost.name}-front"' not in accuracy_against(report, cost)


@both
def test_a_teacher_of_unknown_cost_is_a_line_with_its_name(
    file_report: dict[str, Any], texts_of: TextsOf, cost: Cost
) -> None:
    timed_alone = {**file_report, "models": file_report["models"][1:]}

    shown = texts_of(accuracy_against(file_report, cost))

    assert {entry["name"] for entry in file_report["models"]} <= set(shown)
    assert DASHES in accuracy_against(file_report, cost)
    assert DASHES not in accuracy_against(timed_alone, cost)


def test_a_teacher_that_was_not_judged_is_left_out(silent_report: dict[str, Any], texts_of: TextsOf) -> None:
    shown = texts_of(accuracy_against(silent_report, TIME))

    assert "answers.jsonl" not in shown
    assert "bilstm" in shown


def test_a_file_alone_can_be_drawn(file_report: dict[str, Any], texts_of: TextsOf) -> None:
    del file_report["models"][1:]

    assert "answers.jsonl" in texts_of(accuracy_against(file_report, TIME))


@pytest.mark.parametrize(("milliseconds", "tick"), [(0.36, "0.3"), (1.0, "1"), (50.0, "50"), (0.7, "1")])
def test_a_single_model_next_to_a_file_is_on_an_axis_with_numbers(
    file_report: dict[str, Any], texts_of: TextsOf, milliseconds: float, tick: str
) -> None:
    del file_report["models"][2:]
    file_report["models"][1]["latency_ms"]["p50"] = milliseconds

    assert {"bilstm-alone", tick} <= set(texts_of(accuracy_against(file_report, TIME)))


def test_where_a_row_may_have_several_labels_the_axis_says_exact_match(
    report: dict[str, Any], texts_of: TextsOf
) -> None:
    report["corpus"]["multi_label"] = True

    assert "exact match (%)" in texts_of(accuracy_against(report, TIME))


@both
def test_the_picture_of_several_runs_names_each_of_them(report: dict[str, Any], texts_of: TextsOf, cost: Cost) -> None:
    shown = texts_of(accuracy_of_runs([("small", report), ("large", report)], cost))

    assert {"small", "large", "teacher", "alone", "student", "int8 file", cost.axis} <= set(shown)


def test_runs_of_which_nothing_was_timed_can_be_drawn(silent_report: dict[str, Any], texts_of: TextsOf) -> None:
    del silent_report["models"][1:]

    assert {"small", "large"} <= set(texts_of(accuracy_of_runs([("small", silent_report), ("large", silent_report)])))


def test_no_axis_of_shares_goes_far_beyond_all(report: dict[str, Any], texts_of: TextsOf) -> None:
    for entry in report["models"]:
        entry |= {"accuracy": 1.0, "accuracy_ci95": [1.0, 1.0]}

    shown = texts_of(accuracy_against(report, TIME))

    assert "100" in shown
    assert not {"103", "104", "105", "106"} & set(shown)
