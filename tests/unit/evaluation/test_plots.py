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
