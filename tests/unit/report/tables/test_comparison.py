"""Runs in one table and on one page, and their students against each other."""

import copy
import io
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from limbeck.artifacts.report import RightRows
from limbeck.report import wording
from limbeck.report.tables.comparison import (
    comparison_page,
    models_grid,
    p_between,
    print_comparison,
    students_grid,
    written_comparison,
)
from limbeck.report.tables.formats import Format
from limbeck.report.tables.runs import ComparedRun


@pytest.fixture
def runs(report: dict[str, Any]) -> list[ComparedRun]:
    """Two runs; the gain of the second is noise."""
    other = copy.deepcopy(report)
    other["models"][2] |= {"accuracy": 0.882, "gain_over_baseline": {"accuracy": 0.004, "ci95": [-0.01, 0.02]}}
    return [
        ComparedRun(name=name, path=Path(name), report=data, rows_digest=None)
        for name, data in (("large", report), ("small", other))
    ]


def printed(runs: list[ComparedRun], *, width: int) -> str:
    """What print_comparison writes."""
    file = io.StringIO()
    print_comparison(runs, Console(file=file, width=width))
    return file.getvalue()


def test_every_model_of_every_run_has_a_line(runs: list[ComparedRun]) -> None:
    lines = models_grid(runs).lines

    assert [(line.values["run"], line.values["role"]) for line in lines] == [
        (run, role) for run in ("large", "small") for role in ("teacher", "baseline", "student", "export")
    ]


def test_a_gain_that_is_noise_appears_in_brackets(runs: list[ComparedRun]) -> None:
    grid = models_grid(runs)
    column = [field.heading for field in grid.fields].index("gain")

    assert [line.cells[column] for line in grid.lines] == ["", "", "+7.2", "+7.2", "", "", "(+0.4)", "+7.2"]


def test_students_are_set_against_each_other_by_the_names_of_their_runs(runs: list[ComparedRun]) -> None:
    assert [line.cells for line in students_grid(runs).lines] == [("large", "·", "+5.2"), ("small", "−5.0", "·")]


def test_several_students_of_a_run_have_both_names(runs: list[ComparedRun]) -> None:
    runs[0].report["models"][3]["role"] = "student"

    names = [line.cells[0] for line in students_grid(runs).lines]

    assert names == ["large/bilstm", "large/bilstm-int8", "small"]


def test_a_run_with_exported_files_only_is_compared_by_the_first(runs: list[ComparedRun]) -> None:
    del runs[1].report["models"][2]

    assert students_grid(runs).lines[1].values["vs large"] == pytest.approx(0.926 / 0.928 - 1)


@pytest.mark.parametrize("width", [140, 80])
def test_the_tables_fit_the_terminal(runs: list[ComparedRun], width: int) -> None:
    lines = printed(runs, width=width).splitlines()

    assert max(len(line) for line in lines) <= width
    assert lines[0] == "2 runs"
    assert "Relative change" in lines


def test_warnings_are_below(runs: list[ComparedRun]) -> None:
    runs[1] = replace(runs[1], report={**runs[1].report, "judged_rows": 5})

    assert "warning: the runs were judged on different rows" in printed(runs, width=100)


def test_the_forms_for_programs_hold_both_tables(runs: list[ComparedRun]) -> None:
    tables = json.loads(written_comparison(runs, Format.JSON))

    assert list(tables) == ["comparison", "relative"]
    assert tables["comparison"][6]["gain_low"] == -0.01


def with_right(run: ComparedRun, right: list[bool], *, digest: str = "the same") -> ComparedRun:
    return replace(run, right_rows=RightRows(digest, {"bilstm": int("".join(map(str, map(int, right))), 2)}))


def test_students_judged_on_the_same_rows_are_tested_row_by_row(runs: list[ComparedRun]) -> None:
    large = with_right(runs[0], [True] * 9 + [False])
    small = with_right(runs[1], [True] * 3 + [False] * 6 + [True])  # 6 rows to 1: 2 · (1 + 7) / 128

    grid = students_grid([large, small])

    assert [line.cells for line in grid.lines] == [("large", "·", "+5.2 (0.12)"), ("small", "−5.0 (0.12)", "·")]
    assert grid.lines[0].values["p vs small"] == pytest.approx(0.125)
    assert grid.lines[0].values["p vs large"] is None
    assert "McNemar's exact test" in grid.explained
    assert grid.notes == ()
    assert "(0.12)" in printed([large, small], width=100)


def test_students_judged_on_other_rows_or_without_stored_answers_are_not_tested(runs: list[ComparedRun]) -> None:
    large, small = with_right(runs[0], [True, False]), with_right(runs[1], [True, True], digest="others")

    other_rows, not_stored = students_grid([large, small]), students_grid([large, runs[1]])

    assert [line.cells for line in other_rows.lines] == [line.cells for line in students_grid(runs).lines]
    assert other_rows.notes == ("There is no p between runs that were not judged on the same rows.",)
    assert not_stored.notes[0].startswith("No p for small: ")
    assert "There is no p between runs" in printed([large, small], width=100)


def test_p_is_exact_for_few_rows_and_for_very_many() -> None:
    def p(one: int, other: int) -> float | None:
        return p_between({"rows": "", "right": (1 << one) - 1}, {"rows": "", "right": ((1 << other) - 1) << one})

    assert p(0, 0) == p(4, 4) == 1.0
    assert p(5, 0) == pytest.approx(2 / 32)
    assert p(6, 0) == pytest.approx(2 / 64)
    assert p(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert p(50_500, 49_500) == pytest.approx(
        0.00158, rel=0.02
    )  # as the normal distribution: 1000 / sqrt(100000) = 3.16


# ---- the page ----


@pytest.fixture
def unlike_runs(report: dict[str, Any]) -> list[ComparedRun]:
    return [
        ComparedRun(name=name, path=Path(name), report=data, rows_digest=None)
        for name, data in (("small <b>", report), ("large", {**report, "judged_rows": 5}))
    ]


def test_the_page_holds_tables_picture_warnings_and_verdicts(unlike_runs: list[ComparedRun]) -> None:
    html = comparison_page(unlike_runs)

    assert re.findall(r'<svg id="([\w-]+)"', html) == ["plot-runs-latency", "plot-runs-size"]
    assert re.findall(r'<table id="([\w-]+)"', html) == ["table-comparison", "table-relative"]
    assert "judged on different rows" in html
    assert wording.verdict(unlike_runs[0].report) in unescape(html)


def test_names_are_escaped_and_nothing_is_asked_of_the_network(unlike_runs: list[ComparedRun]) -> None:
    html = comparison_page(unlike_runs)

    assert "small <b>" not in html
    assert "small &lt;b&gt;" in html
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)", html)


def test_runs_without_students_are_shown_without_a_matrix(unlike_runs: list[ComparedRun]) -> None:
    for run in unlike_runs:
        del run.report["models"][1:]

    html = comparison_page(unlike_runs)

    assert re.findall(r'<table id="([\w-]+)"', html) == ["table-comparison"]
