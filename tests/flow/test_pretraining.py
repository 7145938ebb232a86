"""Pretraining on the whole road: to the report, again without a change, and as the language model of another run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.transfer_text import TransferText
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage

TABLE = "\n[teacher.pretraining]\nepochs = 4\nbatch_size = 16\nlearning_rate = 1e-3\nprecision = 'fp32'\n"
SMALL = ["distillation.epochs=1", "distillation.baseline=false", "export.precisions=['fp32']"]


@pytest.fixture(scope="module")
def recipe(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_recipe(tmp_path_factory.mktemp("pretraining") / "data")
    path.write_text(path.read_text(encoding="utf-8") + TABLE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def finished(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "toy"
    return run(recipe, overrides=SMALL, out=out, reporter=SilentReporter())


def test_the_report_calls_the_teacher_by_its_checkpoint_and_it_has_learned(
    finished: Run, tiny_teacher_folder: Path
) -> None:
    (teacher,) = (entry for entry in finished.report["models"] if entry["role"] == "teacher")

    assert teacher["name"] == tiny_teacher_folder.name
    assert teacher["accuracy"] > 0.8


def test_the_guesses_got_better(finished: Run, tiny_teacher_folder: Path) -> None:
    folder = finished.folder / "pretrained" / tiny_teacher_folder.name
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))

    assert history[-1]["held_back_loss"] < history[0]["held_back_loss"]


def test_a_second_run_pretrains_nothing(recipe: Path, finished: Run) -> None:
    run(recipe, overrides=SMALL, out=finished.folder, reporter=SilentReporter())

    stages = json.loads((finished.folder / "run.json").read_text(encoding="utf-8"))["stages"]
    assert all(stage["reused"] for stage in stages.values())


def test_it_fills_in_words_for_another_run(
    recipe: Path, finished: Run, tiny_teacher_folder: Path, tmp_path: Path
) -> None:
    checkpoint = finished.folder / "pretrained" / tiny_teacher_folder.name
    copies = f"augmentation={{copies=1, methods=[{{kind='masked_lm', checkpoint='{checkpoint}'}}]}}"

    run(recipe, overrides=[copies], out=tmp_path / "run", until=Stage.AUGMENTATION, reporter=SilentReporter())

    assert len(TransferText(tmp_path / "run" / "augmented").rows) > 50
