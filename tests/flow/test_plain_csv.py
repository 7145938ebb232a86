"""A stranger with a CSV: one command goes from the file to the report, and the same one again does nothing twice."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.cli import app
from limbeck.drafting import draft, draft_transfer

QUICK = (
    *("teacher.epochs=12", "teacher.batch_size=16", "teacher.learning_rate=1e-3", "teacher.precision=fp32"),
    *("student.hidden_size=8", "student.dense_size=8", "student.embedding_size=12"),
    *("distillation.epochs=2", "distillation.seeds=[0]", "distillation.baseline=false", 'export.precisions=["fp32"]'),
    *("evaluation.latency_rows=5", "evaluation.latency_rounds=1", "evaluation.throughput_rows=8"),
    *("evaluation.throughput_batches=[]", "evaluation.teacher_int8=false"),
)


def test_one_command_goes_from_a_csv_to_the_report_and_again_reuses_everything(
    write_recipe: Callable[[Path], Path], tiny_teacher_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recipe(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    settings = [part for change in (f"teacher.checkpoint={tiny_teacher_folder}", *QUICK) for part in ("--set", change)]
    command = ["run", "data/toy.csv", "--transfer", "data/unlabelled.txt", *settings]

    first = CliRunner().invoke(app, command)
    made = {path: path.stat().st_mtime_ns for path in Path("runs/toy").rglob("manifest.json")}
    again = CliRunner().invoke(app, command)

    assert first.exit_code == 0, first.stderr
    assert "bilstm" in first.stdout
    recipe = tomllib.loads(Path("toy.toml").read_text(encoding="utf-8"))
    assert (recipe["corpus"]["train"], recipe["transfer"]["files"]) == ("data/toy.csv", ["data/unlabelled.txt"])
    assert Path("runs/toy/report/report.html").is_file()
    assert again.exit_code == 0, again.stderr
    assert "toy.toml already exists" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in Path("runs/toy").rglob("manifest.json")} == made
    assert len(made) > 8


def test_with_minutes_the_run_is_planned_and_goes_on_with_its_plan(
    write_recipe: Callable[[Path], Path], tiny_teacher_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recipe(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    settings = [part for change in (f"teacher.checkpoint={tiny_teacher_folder}", *QUICK) for part in ("--set", change)]
    command = ["run", "data/toy.csv", *settings, "--minutes", "1", "--until", "teacher"]

    first = CliRunner().invoke(app, command)
    again = CliRunner().invoke(app, command)

    assert first.exit_code == 0, first.stderr
    plan = next(line for line in first.stderr.splitlines() if "plan for 1 minutes" in line)
    assert plan in again.stderr  # the machine is not timed a second time
    assert "✓ teacher  reused" in again.stderr
    recipe = tomllib.loads(Path("runs/toy/recipe.toml").read_text(encoding="utf-8"))
    assert f"students: {recipe['distillation']['epochs']} epochs" in plan


def test_the_time_of_a_draft_is_kept_to_and_the_run_folder_has_the_planned_recipe(
    write_recipe: Callable[[Path], Path], tiny_teacher_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recipe(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(draft, "has_gpu", lambda: False)
    monkeypatch.setattr(draft_transfer, "_has_general_text", lambda: False)
    own = [f"teacher.checkpoint={tiny_teacher_folder}", "teacher.learning_rate=1e-3", "teacher.precision=fp32"]
    command = ["run", "data/toy.csv", "--until", "teacher", *(part for key in own for part in ("--set", key))]

    planned = CliRunner().invoke(app, command)
    fixed = CliRunner().invoke(app, [*command, "--set", "teacher.epochs=12"])
    continued = CliRunner().invoke(app, ["run", "runs/toy", "--until", "teacher"])

    assert tomllib.loads(Path("toy.toml").read_text(encoding="utf-8"))["minutes"] == 10
    assert planned.exit_code == fixed.exit_code == continued.exit_code == 0, planned.stderr + fixed.stderr
    assert "plan for 10 minutes" in planned.stderr
    assert "minutes = 10 in the recipe is not kept to, as --set gives teacher.epochs" in fixed.stderr
    assert "plan for" not in fixed.stderr + continued.stderr
    assert "minutes" not in tomllib.loads(Path("runs/toy/recipe.toml").read_text(encoding="utf-8"))
