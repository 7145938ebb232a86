"""`limbeck compare` in clumsy hands: one run, no run, a place that is taken; and in careful ones."""

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def two_runs(toy: Any) -> list[Path]:
    """A finished run, and a copy of it."""
    return [toy.run, Path(shutil.copytree(toy.run, toy.run.with_name("other")))]


def test_two_runs_are_shown_side_by_side(two_runs: list[Path], limbeck: Command) -> None:
    answer = limbeck("compare", *two_runs)

    assert answer.code == 0
    assert answer.out.startswith("2 runs\n")
    assert "Relative change" in answer.out
    assert "warning" not in answer.out


def test_numbers_alone_go_to_stdout(two_runs: list[Path], limbeck: Command) -> None:
    answer = limbeck("compare", *two_runs, "--format", "csv")

    first = answer.out.partition("\n\n")[0]
    assert len(list(csv.DictReader(io.StringIO(first)))) == 2 * 5  # teacher, rival, baseline, student, int8
    assert answer.err == ""


def test_a_page_is_written_and_not_over_another(two_runs: list[Path], limbeck: Command, tmp_path: Path) -> None:
    page = tmp_path / "compare.html"

    assert limbeck("compare", *two_runs, "--html", page).code == 0
    assert "plot-runs-size" in page.read_text(encoding="utf-8")
    assert limbeck("compare", *two_runs, "--html", page).refused_with("compare.html", "it already exists", "--force")
    assert limbeck("compare", *two_runs, "--html", page, "--force").code == 0
    assert limbeck("compare", *two_runs, "--html", tmp_path / "no" / "x.html").refused_with("there is no folder")


def test_one_run_alone_is_refused(toy: Any, limbeck: Command) -> None:
    assert limbeck("compare", toy.run).refused_with("alone cannot be compared", "limbeck compare")
    assert limbeck("compare", toy.run, toy.run).refused_with("alone cannot be compared")


def test_what_is_no_run_is_refused(toy: Any, limbeck: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("[1, 2]", encoding="utf-8")

    assert limbeck("compare", toy.run, tmp_path).refused_with("is not a run: it has no run.json")
    assert limbeck("compare", toy.run, "nowhere").refused_with("'nowhere' is not a run")
    assert limbeck("compare", toy.run, tmp_path / "notes.json").refused_with("notes.json' is not a report")


def test_an_unfinished_run_is_refused(two_runs: list[Path], limbeck: Command) -> None:
    shutil.rmtree(two_runs[1] / "report")

    assert limbeck("compare", *two_runs).refused_with("is not a finished run", "limbeck run")
