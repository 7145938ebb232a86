"""One trial: a run of its own in a folder of the search, whose corpus, teacher and labels are those of the main run."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.run_folder import LOCK
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.errors import DependencyMissing, DiskFull, LimbeckError, PathUnusable
from limbeck.pipeline import run
from limbeck.progress import Reporter, SilentReporter
from limbeck.recipe.load import load_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.stages import Stage
from limbeck.runtime.row import Row
from limbeck.search.choice import Trial
from limbeck.search.study import Proposal
from limbeck.timing.protocol import Case, CasePlan, Subject, time_models
from limbeck.timing.texts import MOST_ROWS, mixed

FOLDER = "search"  # inside the run
SHARED = (
    "corpus",
    "transfer",
    "augmented",
    "pretrained",
    "teacher",
    "teachers",
    "labels",
    "chosen",
    "foreign",
    "taught",
)
KEPT = {"models", "recipe.toml", "run.json", LOCK}  # of a trial: the rest is as large as a run
ROUNDS, SECONDS, SETTLING_SECONDS = 8, 1.0, 0.02  # of timing a model
SHOWN = ("hidden_size", "filters", "dense_size", "embedding_size", "vector_rank", "dropout", "learning_rate")
NOT_ITS_FAULT = (DependencyMissing, DiskFull, PathUnusable)  # errors that every trial would have


def tried(proposal: Proposal, *, main: Path, rows: Sequence[Row], reporter: Reporter) -> Trial:
    """Train, export and time the student that the overrides of the main run's recipe make.

    A student that cannot be made is a failed trial with the reason. Errors that have nothing to do with the student,
    such as a full disk, are raised.
    """
    started, folder = time.monotonic(), main / FOLDER / proposal.folder
    try:
        found = _measured(proposal.overrides, main=main, folder=folder, rows=rows, reporter=reporter)
        facts: dict[str, Any] = {"state": "finished", **found}
    except NOT_ITS_FAULT:
        raise
    except LimbeckError as error:
        facts = {"state": "failed", "reason": str(error)}
    _drop_what_is_large(folder)
    seconds = round(time.monotonic() - started, 1)
    return Trial(
        folder=proposal.folder,
        origin=proposal.origin,
        kind=proposal.kind,
        overrides=proposal.overrides,
        seconds=seconds,
        **facts,
    )


def _measured(
    overrides: Sequence[str], *, main: Path, folder: Path, rows: Sequence[Row], reporter: Reporter
) -> dict[str, Any]:
    base = load_recipe(main, locate=False).recipe
    precision = base.export.smallest
    alone = [*overrides, "distillation.baseline=false", f'export.precisions=["{precision}"]']
    link_inputs(main, folder)
    run(main, overrides=alone, out=folder, until=Stage.EXPORT, reporter=reporter)
    recipe = load_recipe(folder, locate=False).recipe
    student = StudentFolder(folder / "students" / recipe.student.kind / str(recipe.distillation.seeds[0])).facts
    place = f"models/{student.name}{'-int8' if precision == 'int8' else ''}"
    model = ModelFolder(folder / place)
    return {
        "dev_score": student.chosen_by,
        "near_chance": student.near_chance,
        "dev_measure": student.dev_measure or "accuracy",
        "us": microseconds(model, rows),
        "mb": model.size_mb(),
        "model": place,
        "settings": main_settings(recipe),
    }


def link_inputs(main: Path, folder: Path) -> None:
    """Put links to the main run's artifacts where the trial looks for its own.

    Their keys are those that the trial asks for, so it reuses them. If one had another key, the trial would rename the
    link and make an artifact of its own: nothing is ever written or removed through a link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOCK).touch()  # a folder with links alone would be refused: it does not look like a run
    for name in SHARED:
        place = folder / name
        if place.is_symlink():
            place.unlink()
        if (main / name).exists() and not place.exists():
            place.symlink_to(Path("..", "..", name), target_is_directory=True)


def microseconds(model: ModelFolder, rows: Sequence[Row]) -> float:
    """The median time of one text on one thread, from text to label."""
    subject = Subject(name="model", kind="model", folder=model.folder)
    plan = CasePlan(
        Case(threads=1, batch=1),
        texts=[rows],
        seconds=SECONDS / ROUNDS,
        every_round=True,
        settling_seconds=SETTLING_SECONDS,
    )
    (timed,) = time_models([subject], plans=[plan], rounds=ROUNDS, reporter=SilentReporter())
    return round(1000 * timed.cases[plan.case].percentile(50), 2)


def timed_rows(corpus: Corpus) -> list[Row]:
    """Dev rows to time models on, short and long ones mixed."""
    dev = corpus.splits["dev"]
    rows: list[Row] = list(zip(dev.texts, dev.pairs, strict=True)) if dev.pairs is not None else list(dev.texts)
    return mixed(rows[:MOST_ROWS])


def main_settings(recipe: Recipe) -> dict[str, Any]:
    """What tells students of one kind apart, for the table."""
    student = recipe.student
    found = {key: value for key in SHOWN if (value := getattr(student, key, None)) is not None}
    if "vector_rank" in found or any(source not in ("teacher", "random") for source in _sources(student)):
        found.pop("embedding_size", None)
    losses = recipe.distillation.every_loss
    return {
        **found,
        "tokens": student.vocabulary.max_size,
        "learning_rate": found.get("learning_rate", recipe.distillation.learning_rate),
        "losses": " + ".join(loss.kind for loss in losses),
    }


def _sources(student: Any) -> list[str]:
    return list(getattr(student, "vector_sources", []))


def _drop_what_is_large(folder: Path) -> None:
    """Keep the model and the recipe of a trial. Links are removed, and not what they lead to."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in KEPT:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
