"""The pictures: well-formed, the same every time, and safe to put into one page together."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest

from limbeck.evaluation import plots

PLOTS = [plots.accuracy_against_latency, plots.training_accuracy, plots.training_loss]
Plot = Callable[[dict[str, Any]], str]


def texts_of(svg: str) -> list[str]:
    """Every piece of text in a picture."""
    return [
        "".join(node.itertext()).strip() for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")
    ]


@pytest.mark.parametrize("plot", PLOTS)
def test_the_same_numbers_give_the_same_bytes(plot: Plot, report: dict[str, Any]) -> None:
    assert plot(report) == plot(report)


@pytest.mark.parametrize("plot", PLOTS)
def test_ink_follows_the_page_and_the_page_sets_the_size(plot: Plot, report: dict[str, Any]) -> None:
    svg = plot(report)

    head = svg[: svg.index(">")]
    assert "currentColor" in svg
    assert plots.INK not in svg
    assert "viewBox" in head
    assert " width=" not in head


def test_every_model_is_named_in_the_plot_of_accuracy_against_latency(report: dict[str, Any]) -> None:
    shown = texts_of(plots.accuracy_against_latency(report))

    assert {entry["name"] for entry in report["models"]} <= set(shown)


def test_a_teacher_that_was_not_timed_is_a_line_with_its_name(file_report: dict[str, Any]) -> None:
    timed_alone = {**file_report, "models": file_report["models"][1:]}

    shown = texts_of(plots.accuracy_against_latency(file_report))

    assert {entry["name"] for entry in file_report["models"]} <= set(shown)
    assert "stroke-dasharray: 7.8,5.2" in plots.accuracy_against_latency(file_report)
    assert "stroke-dasharray: 7.8,5.2" not in plots.accuracy_against_latency(timed_alone)


def test_a_teacher_that_was_not_judged_is_left_out(silent_report: dict[str, Any]) -> None:
    shown = texts_of(plots.accuracy_against_latency(silent_report))

    assert "answers.jsonl" not in shown
    assert "bilstm" in shown


def test_a_file_alone_can_be_drawn(file_report: dict[str, Any]) -> None:
    del file_report["models"][1:]

    assert "answers.jsonl" in texts_of(plots.accuracy_against_latency(file_report))


@pytest.mark.parametrize(("milliseconds", "tick"), [(0.36, "0.3"), (1.0, "1"), (50.0, "50"), (0.7, "1")])
def test_a_single_model_beside_a_file_stands_on_an_axis_with_numbers(
    file_report: dict[str, Any], milliseconds: float, tick: str
) -> None:
    del file_report["models"][2:]
    file_report["models"][1]["latency_ms"]["p50"] = milliseconds

    assert {"bilstm-alone", tick} <= set(texts_of(plots.accuracy_against_latency(file_report)))


def test_a_teacher_without_an_accuracy_on_dev_has_no_line_there(report: dict[str, Any]) -> None:
    report["models"][0]["dev_accuracy"] = None

    assert "teacher" not in texts_of(plots.training_accuracy(report))


def test_where_a_row_may_have_several_labels_the_axis_says_exact_match(report: dict[str, Any]) -> None:
    report["corpus"]["multi_label"] = True

    assert "exact match (%)" in texts_of(plots.accuracy_against_latency(report))
    assert "exact match on dev (%)" in texts_of(plots.training_accuracy(report))


def test_names_that_look_like_formulas_or_are_chinese_stay_as_they_are(report: dict[str, Any]) -> None:
    report["models"][0]["name"], report["models"][1]["name"] = "a$b$c <i>", "老师"

    shown = texts_of(plots.accuracy_against_latency(report))

    assert {"a$b$c <i>", "老师"} <= set(shown)


def test_the_legend_names_every_student_once_and_the_teacher(report: dict[str, Any]) -> None:
    shown = texts_of(plots.training_accuracy(report))

    assert [shown.count(name) for name in ("bilstm", "bilstm-alone", "teacher")] == [1, 1, 1]


def test_a_single_epoch_and_a_loss_of_zero_can_be_drawn(report: dict[str, Any]) -> None:
    report["curves"] = [{**report["curves"][0], "epochs": [{"epoch": 1, "loss": 0.0, "dev_accuracy": 0.5}]}]

    assert "1" in texts_of(plots.training_loss(report))
    assert "1" in texts_of(plots.training_accuracy(report))


def test_no_two_pictures_share_an_id_and_every_reference_is_answered(report: dict[str, Any]) -> None:
    pictures = [plot(report) for plot in PLOTS]

    ids = [name for picture in pictures for name in set(re.findall(r'\bid="([^"]+)"', picture))]
    assert len(ids) == len(set(ids))
    for picture in pictures:
        references = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', picture))
        assert {first or second for first, second in references} <= set(re.findall(r'\bid="([^"]+)"', picture))


def test_drawing_leaves_the_settings_of_the_process_alone(report: dict[str, Any]) -> None:
    before = dict(matplotlib.rcParams)

    plots.training_loss(report)

    assert dict(matplotlib.rcParams) == before
