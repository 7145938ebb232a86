"""Several students at once: the same students as one after the other, each reported once, and errors as usual."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limbeck.artifacts.manifest import read_manifest
from limbeck.distillation.terms.custom import CustomLossUnusable
from limbeck.pipeline import run
from limbeck.progress import Bar, SilentReporter
from limbeck.recipe.stages import Stage

STUDENTS = ["students/bilstm-alone/0", "students/bilstm/0"]
SEEDS = ["students/bilstm/0", "students/bilstm/1"]
QUICK = ["teacher.epochs=8", "distillation.epochs=3", "teacher.near_chance='warn'"]
ROWS = 160 + (160 + 200)  # of train for the baseline; for the other also the transfer text

# A loss that counts the steps of the second seed, and meets with an accident in its second epoch if it is told to.
LOSSES = """
import os, signal
from pathlib import Path
import torch
from torch.nn import functional as F

CALLS = 0

def mse(student_logits, teacher_logits, labels, folder):
    global CALLS
    CALLS += 1
    if torch.initial_seed() == 1:
        with Path(folder, "steps").open("a") as steps:
            steps.write(".")
        if CALLS == 45:
            meet_with(Path(folder, "accident"))
    return F.mse_loss(student_logits, teacher_logits)

def meet_with(accident):
    how = accident.read_text()
    accident.write_text("")
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "failed":
        raise ValueError("it was to be so")
"""
STEPS = 23  # of an epoch: 360 rows in batches of 16


class Notes(SilentReporter):
    """Remembers the lines, and of every bar its name, its total and how far it came."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.made: list[str] = []
        self.reused: list[str] = []
        self.bars: list[list[object]] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        (self.reused if is_reused else self.made).append(name)

    @contextmanager
    def bar(self, what: str, *, total: int, unit: str) -> Iterator[Bar]:
        assert unit == "rows" or "students" not in what
        self.bars.append([what, total, 0])
        yield _Counter(self.bars[-1])


class _Counter:
    def __init__(self, bar: list[object]) -> None:
        self._bar = bar

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        del note
        self._bar[2] = int(str(self._bar[2])) + amount


@pytest.fixture(scope="module")
def labelled(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has come as far as its labels, beside its recipe."""
    folder = tmp_path_factory.mktemp("at-once")
    recipe = write_recipe(folder / "data")
    run(recipe, overrides=QUICK, out=folder / "labelled", until=Stage.LABELING, reporter=SilentReporter())
    return folder


def go_on(labelled: Path, out: Path, *overrides: str, reporter: Notes) -> Path:
    """Train the students of a copy of the run; a copy that is there goes on."""
    if not out.exists():
        shutil.copytree(labelled / "labelled", out)
    changes = [*QUICK, *overrides]
    run(labelled / "data" / "toy.toml", overrides=changes, out=out, until=Stage.DISTILLATION, reporter=reporter)
    return out


@pytest.fixture(scope="module")
def one_by_one(labelled: Path) -> Path:
    return go_on(labelled, labelled / "one", reporter=Notes())


def manifests(folder: Path, names: list[str]) -> dict[str, object]:
    """Of each student what it was made from, and the hashes of its files."""
    return {name: read_manifest(folder / name, kind="student") for name in names}


def test_students_trained_at_once_are_those_trained_one_after_the_other(labelled: Path, one_by_one: Path) -> None:
    notes, tracked = Notes(), "tracking.trackers=['tensorboard']"

    together = go_on(labelled, labelled / "two", "distillation.at_once=2", tracked, reporter=notes)

    assert manifests(together, STUDENTS) == manifests(one_by_one, STUDENTS)
    assert [name for name in notes.made if name.startswith("students")] == STUDENTS
    assert not [name for name in notes.reused if name.startswith("students")]
    assert sorted(line.partition(":")[0] for line in notes.lines if "on dev after epoch" in line) == [
        "  bilstm, seed 0",
        "  bilstm-alone, seed 0",
    ]
    assert notes.bars[-1] == ["training 2 students, 2 at once", 3 * ROWS, 3 * ROWS]
    curves = {path.relative_to(together).parts[1] for path in together.rglob("events.*")}
    assert curves == {"training_bilstm-alone__seed_0", "training_bilstm__seed_0"}
    stages = json.loads((together / "run.json").read_text(encoding="utf-8"))["stages"]
    assert all(stages[name]["seconds"] > 0 and not stages[name]["reused"] for name in STUDENTS)


def test_how_many_at_once_is_no_reason_to_train_again(labelled: Path, one_by_one: Path) -> None:
    notes = Notes()

    go_on(labelled, one_by_one, "distillation.at_once=3", reporter=notes)

    assert notes.made == []
    assert set(STUDENTS) <= set(notes.reused)


@pytest.fixture
def accident(labelled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says what happens to the second seed."""
    (labelled / "toy_accident.py").write_text(LOSSES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(labelled))
    (labelled / "steps").unlink(missing_ok=True)
    (labelled / "accident").write_text("", encoding="utf-8")
    return labelled / "accident"


def with_loss(folder: Path) -> list[str]:
    loss = f"{{kind='custom', call='toy_accident:mse', options={{folder='{folder}'}}}}"
    return [f"distillation.losses=[{loss}]", "distillation.baseline=false", "distillation.seeds=[0,1]"]


def test_a_training_that_is_killed_beside_another_goes_on_from_its_checkpoint(labelled: Path, accident: Path) -> None:
    undisturbed = go_on(labelled, labelled / "undisturbed", *with_loss(labelled), reporter=Notes())
    (labelled / "steps").unlink()
    accident.write_text("killed", encoding="utf-8")
    notes = Notes()

    disturbed = go_on(labelled, labelled / "disturbed", *with_loss(labelled), "distillation.at_once=2", reporter=notes)

    assert manifests(disturbed, SEEDS) == manifests(undisturbed, SEEDS)
    assert len((labelled / "steps").read_text(encoding="utf-8")) == 45 + 2 * STEPS  # the first epoch was kept
    assert "  students/bilstm/1: not enough memory next to the others; continues when fewer are training" in notes.lines
    assert notes.bars[-1][1] == notes.bars[-1][2] == 2 * 3 * 360  # no row is counted twice


def test_a_training_that_fails_stops_the_run_with_its_own_message(labelled: Path, accident: Path) -> None:
    accident.write_text("failed", encoding="utf-8")

    with pytest.raises(CustomLossUnusable, match="ValueError: it was to be so"):
        go_on(labelled, labelled / "failing", *with_loss(labelled), "distillation.at_once=2", reporter=Notes())
