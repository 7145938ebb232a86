"""Students in processes of their own: several at the same time, as a single one does not keep a large GPU busy; or one
trained by several processes together, if it does."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import torch

from limbeck.artifacts.disk import disk_errors_as_user_errors
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.run_folder import RunFolder
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.augmentation.processes import available_cores
from limbeck.distillation.stages import trainings_of
from limbeck.distillation.training_rows import rows_to_train_on
from limbeck.pipeline.one_student import Job, StudentId, TrainingInputs, key_of, place_of, train_one
from limbeck.progress import Bar, Reporter, Style, TerminalReporter
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.losses import Custom
from limbeck.training.processes import process_count, reporter_of_member, run_together
from limbeck.training.side_by_side import Send, run_side_by_side

MIN_ROWS = 500_000  # in all epochs of all students: about ten seconds when trained one after the other
MAX_PER_GPU = 4  # Bi-LSTMs leave a large GPU idle much of the time; more than this need too much memory
TRAIN_TASK = "limbeck.pipeline.several_students:train_for_another_process"
MEMBER_TASK = "limbeck.pipeline.several_students:train_as_member"


def how_many_at_once(section: Distillation, *, students: int, rows: Callable[[], int]) -> int:
    """`distillation.at_once`; by default all students, as far as GPUs and cores allow.

    The default is one without a GPU, or with so few rows that starting processes would take longer. It is one, too, if
    several processes train each of them.
    """
    if how_many_together(section) > 1:
        return 1
    if is_only_here(section):
        return 1
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    asked = section.at_once
    if asked is None and gpus and students > 1:
        asked = min(MAX_PER_GPU * gpus, available_cores()) if rows() >= MIN_ROWS else 1
    return max(1, min(asked or 1, students))


def how_many_together(section: Distillation) -> int:
    """How many processes train one student: `distillation.processes`; by default one, or what torchrun has started."""
    return 1 if is_only_here(section) else process_count(section.processes, default=1)


def is_only_here(section: Distillation) -> bool:
    """Whether a loss is defined in the calling program or in a module without a file: only this process has it."""
    modules = [loss.call.partition(":")[0] for loss in section.every_loss if isinstance(loss, Custom)]
    loaded = [(name, sys.modules.get(name)) for name in modules]
    return any(name == "__main__" or (found and not getattr(found, "__file__", None)) for name, found in loaded)


def train_at_once(students: Sequence[Job], run: RunFolder, *, at_once: int) -> None:
    """Train the missing students, at most `at_once` at the same time."""
    keys = {place_of(*student): key_of(*student) for student in students}
    missing = [
        student
        for student in students
        if run.is_to_make(place_of(*student), kind="student", key=keys[place_of(*student)])
    ]
    if not missing:
        return
    gc.collect()
    torch.cuda.empty_cache()  # other processes cannot use memory that this one caches
    jobs = {
        (place := place_of(*student)): _job(student, out=run.folder / place, key=keys[place]) for student in missing
    }
    at_once = min(at_once, len(jobs))
    what = f"training {len(jobs)} students, {at_once} at once" if at_once > 1 else f"training {next(iter(jobs))}"
    with run.reporter.bar(what, total=rows_to_read(missing), unit="rows") as bar:
        run_side_by_side(TRAIN_TASK, jobs, at_once=at_once, listener=_CombinedProgress(bar, run, students=len(jobs)))


def rows_to_read(students: Sequence[Job]) -> int:
    """Number of rows in all epochs of all trainings of these students."""
    _, inputs = students[0]  # all kinds are trained on the same rows, with the same objective

    @cache
    def read_by(*, alone: bool) -> int:
        rows = rows_to_train_on(
            inputs.corpus, [] if alone else inputs.chosen_text.rows, None if alone else inputs.labels
        )
        epochs = sum(training.settings.epochs for training in trainings_of(inputs.recipe.distillation, alone=alone))
        foreign = [] if alone else inputs.chosen_text.foreign
        return (len(rows) + sum(map(len, foreign))) * epochs

    return sum(read_by(alone=student_id.is_alone) for student_id, _ in students)


class _CombinedProgress:
    """One progress bar for all students; records the seconds of each in run.json."""

    def __init__(self, bar: Bar, run: RunFolder, *, students: int) -> None:
        self._bar, self._run, self._students = bar, run, students
        self._rows: dict[str, int] = {}
        self._finished = 0

    def received(self, name: str, message: Mapping[str, Any]) -> None:
        if "note" in message:
            self._run.reporter.note(message["note"], style=message["style"])
            return
        if "stage" in message:
            self._run.reporter.stage(message["stage"], message["text"], is_reused=message["is_reused"])
            return
        grown = message["rows"] - self._rows.get(name, 0)
        if grown > 0:  # one that was postponed reports rows a second time
            self._rows[name] = message["rows"]
            self._bar.advance(grown, note=f"{self._finished} of {self._students} finished")

    def finished(self, name: str, *, seconds: float) -> None:
        self._finished += 1
        self._run.record(name, seconds=seconds)

    def postponed(self, name: str) -> None:
        self._run.reporter.note(f"  {name}: not enough memory next to the others; continues when fewer are training")


def train_together(student: Job, *, out: Path, key: Key, reporter: Reporter, processes: int) -> StudentFolder:
    """Train one student in a group of processes, or continue its training."""
    student_id, inputs = student
    name = place_of(student_id, inputs)
    reporter.note(f"  {name}: trained by {processes} processes together")
    job = _job(student, out=out.resolve(), key=key)
    run_together(MEMBER_TASK, {**job, "prints": isinstance(reporter, TerminalReporter)}, processes=processes)
    return StudentFolder(out)


def train_as_member(job: Mapping[str, Any]) -> None:
    """One process of such a group; the first one writes the student."""
    _train(job, reporter_of_member(prints=job["prints"]))


def train_for_another_process(job: Mapping[str, Any], tell: Send) -> None:
    """Train one student into its folder; the parent process writes run.json."""
    _train(job, _RelayReporter(tell))


def _job(student: Job, *, out: Path, key: Key) -> dict[str, Any]:
    """One student, for another process."""
    student_id, inputs = student
    return {"inputs": inputs.as_json(), "student_id": asdict(student_id), "out": str(out), "key": asdict(key)}


def _train(job: Mapping[str, Any], reporter: Reporter) -> None:
    out, student = Path(job["out"]), StudentId(**job["student_id"])
    with disk_errors_as_user_errors(out, advice="Correct that, or give another folder with --out."):
        train_one(student, TrainingInputs.from_json(job["inputs"]), out=out, key=Key(**job["key"]), reporter=reporter)


class _RelayReporter:
    """A reporter that sends notes, and the number of rows of all bars, to the parent process."""

    def __init__(self, tell: Send) -> None:
        self._tell, self._rows = tell, 0

    def note(self, text: str, *, style: Style = "") -> None:
        self._tell({"note": text, "style": style})

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        self._tell({"stage": name, "text": text, "is_reused": is_reused})

    @contextmanager
    def bar(self, what: str, *, total: int, unit: str) -> Iterator[Bar]:
        del what, total, unit
        yield self

    def advance(self, amount: int = 1, *, note: str = "") -> None:
        del note
        self._rows += amount
        self._tell({"rows": self._rows})
