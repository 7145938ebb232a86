"""The page of several runs: all in one file, and a verdict for every run."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from limbeck.report import wording
from limbeck.report.tables.comparison import comparison_page
from limbeck.report.tables.runs import ComparedRun


@pytest.fixture
def runs(report: dict[str, Any]) -> list[ComparedRun]:
    return [
        ComparedRun(name=name, path=Path(name), report=data, rows_digest=None)
        for name, data in (("small <b>", report), ("large", {**report, "judged_rows": 5}))
    ]


def test_the_page_holds_tables_picture_warnings_and_verdicts(runs: list[ComparedRun]) -> None:
    html = comparison_page(runs)

    assert re.findall(r'<svg id="([\w-]+)"', html) == ["plot-runs-latency", "plot-runs-size"]
    assert re.findall(r'<table id="([\w-]+)"', html) == ["table-comparison", "table-relative"]
    assert "judged on different rows" in html
    assert wording.verdict(runs[0].report) in unescape(html)


def test_names_are_escaped_and_nothing_is_asked_of_the_network(runs: list[ComparedRun]) -> None:
    html = comparison_page(runs)

    assert "small <b>" not in html
    assert "small &lt;b&gt;" in html
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)", html)


def test_runs_without_students_are_shown_without_a_matrix(runs: list[ComparedRun]) -> None:
    for run in runs:
        del run.report["models"][1:]

    html = comparison_page(runs)

    assert re.findall(r'<table id="([\w-]+)"', html) == ["table-comparison"]
