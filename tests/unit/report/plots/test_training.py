"""Curves of training: every student once in the legend, and all its losses in one picture."""

from collections.abc import Callable
from typing import Any

from limbeck.report.plots.drawing import COLOURS, PALETTE
from limbeck.report.plots.training import loss_terms, training_accuracy, training_loss

TextsOf = Callable[[str | None], list[str]]


def test_a_teacher_without_an_accuracy_on_dev_has_no_line_there(report: dict[str, Any], texts_of: TextsOf) -> None:
    report["models"][0]["dev_accuracy"] = None

    assert "teacher" not in texts_of(training_accuracy(report))


def test_where_a_row_may_have_several_labels_the_axis_says_exact_match(
    report: dict[str, Any], texts_of: TextsOf
) -> None:
    report["corpus"]["multi_label"] = True

    assert "exact match on dev (%)" in texts_of(training_accuracy(report))


def test_the_legend_names_every_student_once_and_the_teacher(report: dict[str, Any], texts_of: TextsOf) -> None:
    shown = texts_of(training_accuracy(report))

    assert [shown.count(name) for name in ("bilstm", "bilstm-alone", "teacher")] == [1, 1, 1]


def test_a_single_epoch_and_a_loss_of_zero_can_be_drawn(report: dict[str, Any], texts_of: TextsOf) -> None:
    report["curves"] = [{**report["curves"][0], "epochs": [{"epoch": 1, "loss": 0.0, "dev_accuracy": 0.5}]}]

    assert "1" in texts_of(training_loss(report))
    assert "1" in texts_of(training_accuracy(report))


def test_every_loss_of_the_student_has_a_curve(full_report: dict[str, Any], texts_of: TextsOf) -> None:
    shown = texts_of(loss_terms(full_report))

    assert {"hard labels", "soft targets", "step"} <= set(shown)


def test_trainings_in_stages_follow_each_other_with_a_line_between(
    full_report: dict[str, Any], texts_of: TextsOf
) -> None:
    student = full_report["curves"][2]
    once = str(loss_terms(full_report))
    student["points"] = [student["points"][0], [{"step": 100, "logit_mse": 0.4}, {"step": 200, "logit_mse": 0.2}]]

    twice = str(loss_terms(full_report))

    assert {"hard labels", "logit mse", "600"} <= set(texts_of(twice))  # 390 steps, then 200
    assert twice.count("stroke-dasharray") == once.count("stroke-dasharray") + 1


def test_where_no_steps_were_kept_the_epochs_are_drawn(full_report: dict[str, Any], texts_of: TextsOf) -> None:
    for curve in full_report["curves"]:
        curve["points"] = []

    assert {"hard labels", "epoch"} <= set(texts_of(loss_terms(full_report)))


def test_a_report_without_students_has_no_losses_to_draw(full_report: dict[str, Any]) -> None:
    del full_report["curves"][2:]

    assert loss_terms(full_report) is None


def test_students_of_several_kinds_have_a_colour_each(report: dict[str, Any]) -> None:
    student = next(curve for curve in report["curves"] if curve["role"] == "student")
    others = [{**student, "name": kind} for kind in ("textcnn", "bag")]

    drawn = training_accuracy({**report, "curves": [*report["curves"], *others]})

    assert COLOURS["student"] in drawn
    assert sum(colour in drawn for colour in PALETTE if colour not in COLOURS.values()) == 2
