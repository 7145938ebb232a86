"""Every picture: well-formed, the same every time, and safe to put into one page with the others."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest

from limbeck.report import plots
from limbeck.report.plots.against import accuracy_of_runs
from limbeck.report.plots.drawing import INK

Plot = Callable[[dict[str, Any]], str | None]


def against_time(report: dict[str, Any]) -> str:
    return plots.accuracy_against(report, plots.TIME)


def against_size(report: dict[str, Any]) -> str:
    return plots.accuracy_against(report, plots.SIZE)


def confusion_of_the_student(report: dict[str, Any]) -> str | None:
    return plots.confusion(report["models"][2], labels=report["corpus"]["labels"], name="confusion-student")


def confusion_of_the_teacher(report: dict[str, Any]) -> str | None:
    return plots.confusion(report["models"][0], labels=report["corpus"]["labels"], name="confusion-teacher")


def reliability(report: dict[str, Any]) -> str | None:
    return plots.reliability(report["models"][:3])


def two_runs(report: dict[str, Any]) -> str:
    return accuracy_of_runs([("one", report), ("two", report)])


PLOTS: list[Plot] = [
    against_time,
    against_size,
    plots.accuracy_by_length,
    plots.training_accuracy,
    plots.training_loss,
    plots.loss_terms,
    plots.cascade,
    reliability,
    confusion_of_the_teacher,
    confusion_of_the_student,
    two_runs,
]


def drawn(plot: Plot, report: dict[str, Any]) -> str:
    """The picture, which must be there."""
    picture = plot(report)
    assert picture is not None
    return picture


@pytest.mark.parametrize("plot", PLOTS)
def test_the_same_numbers_give_the_same_bytes(plot: Plot, full_report: dict[str, Any]) -> None:
    assert plot(full_report) == plot(full_report)


@pytest.mark.parametrize("plot", PLOTS)
def test_ink_follows_the_page_and_the_page_sets_the_size(plot: Plot, full_report: dict[str, Any]) -> None:
    picture = drawn(plot, full_report)

    head = picture[: picture.index(">")]
    assert "currentColor" in picture
    assert INK not in picture
    assert "viewBox" in head
    assert " width=" not in head


@pytest.mark.parametrize("plot", PLOTS)
def test_a_picture_says_what_it_is_to_those_who_do_not_see_it(plot: Plot, full_report: dict[str, Any]) -> None:
    root = ElementTree.fromstring(drawn(plot, full_report))

    assert root.get("id", "").startswith("plot-")
    assert root.get("role") == "img"
    assert root.get("aria-label")


def test_no_two_pictures_share_an_id_and_every_reference_is_answered(full_report: dict[str, Any]) -> None:
    pictures = [drawn(plot, full_report) for plot in PLOTS]

    ids = [name for picture in pictures for name in set(re.findall(r'\bid="([^"]+)"', picture))]
    assert len(ids) == len(set(ids))
    for picture in pictures:
        references = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', picture))
        assert {first or second for first, second in references} <= set(re.findall(r'\bid="([^"]+)"', picture))


def test_drawing_leaves_the_settings_of_the_process_alone(full_report: dict[str, Any]) -> None:
    before = dict(matplotlib.rcParams)

    plots.training_loss(full_report)

    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("plot", PLOTS[2:3] + PLOTS[5:10])
def test_what_an_old_report_does_not_know_is_not_drawn(plot: Plot, report: dict[str, Any]) -> None:
    assert plot(report) is None


def test_names_that_look_like_formulas_or_markup_stay_as_they_are(
    full_report: dict[str, Any], texts_of: Callable[[str | None], list[str]]
) -> None:
    full_report["models"][0]["name"], full_report["models"][2]["name"] = "a$b$c <i>", '老师 "&"'
    full_report["corpus"]["labels"] = ["<b>", "a_b$"]

    for plot in PLOTS:
        ElementTree.fromstring(drawn(plot, full_report))
    assert {"a$b$c <i>", '老师 "&"'} <= set(texts_of(plots.accuracy_against(full_report, plots.TIME)))
    assert {"<b>", "a_b$"} <= set(texts_of(confusion_of_the_student(full_report)))
