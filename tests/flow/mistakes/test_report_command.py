"""`limbeck report` in clumsy hands: no run, half a run, a damaged report."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_a_finished_run_is_shown_with_its_models(toy: Any, limbeck: Command) -> None:
    answer = limbeck("report", toy.run)

    assert answer.code == 0
    assert str(toy.run / "report" / "report.html") in answer.out
    assert f"limbeck predict {toy.run / 'models' / 'best'}\n" in answer.out


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (["--markdown"], "### Quality\n"),
        (["--format", "markdown", "--table", "quality"], "| model | accuracy |"),
        (["--format", "csv", "--table", "cost"], "model,role,accuracy,"),
        (["--format", "latex", "--table", "relative"], "% Relative change;"),
        (["--format", "json"], '{\n "quality": ['),
        (["--table", "classes"], "Class by class: bilstm"),
    ],
)
def test_tables_are_printed_in_the_form_that_was_asked_for(
    toy: Any, limbeck: Command, options: list[str], start: str
) -> None:
    answer = limbeck("report", toy.run, *options)

    assert answer.code == 0
    assert answer.out.startswith(start)
    assert "report.html" not in answer.out


@pytest.mark.parametrize("options", [[], ["--markdown"]])
def test_a_folder_that_is_no_run_is_called_so(tmp_path: Path, limbeck: Command, options: list[str]) -> None:
    assert limbeck("report", "nowhere", *options).refused_with("'nowhere' is not a run", "runs/NAME")
    assert limbeck("report", tmp_path, *options).refused_with(f"'{tmp_path}' is not a run: it has no run.json")


def test_an_unfinished_run_says_how_far_it_came_and_how_to_go_on(toy: Any, limbeck: Command) -> None:
    for name in ("report", "rival", "models", "exports", "students"):
        shutil.rmtree(toy.run / name)

    answer = limbeck("report", toy.run)

    assert answer.refused_with(
        "is not a finished run: it stopped after vocabulary", f"Continue with: limbeck run {toy.run}"
    )


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("{")])
def test_a_damaged_report_is_found(toy: Any, limbeck: Command, damage: Callable[[Path], object]) -> None:
    damage(toy.run / "report" / "report.json")

    assert limbeck("report", toy.run).refused_with("report' is damaged", "report.json", "Run the recipe again")
