"""Several students trained at the same time, each in a process of its own: a single one leaves a large GPU idle."""

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
from limbeck.augmentation.processes import available_cores
from limbeck.distillation.run import rows_to_train_on
from limbeck.distillation.stages import trainings_of
from limbeck.pipeline.one_student import StudentId, TrainingInputs, key_of, place_of, train_one
from limbeck.progress import Bar, Style
from limbeck.recipe.distillation import Distillation
from limbeck.recipe.losses import Custom
from limbeck.training.side_by_side import Send, run_side_by_side

LEAST_ROWS = 500_000  # of all epochs of all students: some ten seconds of one training after the other
MOST_ON_A_GPU = 4  # of Bi-LSTMs, which leave a large GPU idle much of the time; more take memory
WORK = "limbeck.pipeline.several_students:train_for_another_process"


def how_many_at_once(section: Distillation, *, students: int, rows: Callable[[], int]) -> int:
    """`distillation.at_once`; by default all, as far as GPUs and cores allow.

    The default is one without a GPU, or if they read so few rows that starting processes would take longer.
    """
    if any(isinstance(loss, Custom) and _is_only_here(loss) for loss in section.every_loss):
        return 1
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    asked = section.at_once
    if asked is None and gpus and students > 1:
        asked = min(MOST_ON_A_GPU * gpus, available_cores()) if rows() >= LEAST_ROWS else 1
    return max(1, min(asked or 1, students))


def _is_only_here(loss: Custom) -> bool:
    """Whether it is defined in the calling program or in a module without a file: another process cannot import it."""
    module = loss.call.partition(":")[0]
    loaded = sys.modules.get(module)
    return module == "__main__" or (loaded is not None and getattr(loaded, "__file__", None) is None)


def train_at_once(student_ids: Sequence[StudentId], inputs: TrainingInputs, work: RunFolder, *, at_once: int) -> None:
    """Train the missing students, at most `at_once` at the same time."""
    keys = {student_id: key_of(student_id, inputs) for student_id in student_ids}
    missing = [
        student_id
        for student_id in student_ids
        if work.is_to_make(place_of(student_id, inputs), kind="student", key=keys[student_id])
    ]
    if not missing:
        return
    gc.collect()
    torch.cuda.empty_cache()  # cached memory of this process is not available to the others
    places = inputs.as_json()
    jobs = {
        place_of(student_id, inputs): {
            "inputs": places,
            "student_id": asdict(student_id),
            "out": str(work.folder / place_of(student_id, inputs)),
            "key": asdict(keys[student_id]),
        }
        for student_id in missing
    }
    at_once = min(at_once, len(jobs))
    what = f"training {len(jobs)} students, {at_once} at once" if at_once > 1 else f"training {next(iter(jobs))}"
    with work.reporter.bar(what, total=rows_to_read(missing, inputs), unit="rows") as bar:
        run_side_by_side(WORK, jobs, at_once=at_once, listener=_Together(bar, work, students=len(jobs)))


def rows_to_read(student_ids: Sequence[StudentId], inputs: TrainingInputs) -> int:
    """Number of rows in all epochs of all their trainings."""

    @cache
    def read_by(*, alone: bool) -> int:
        rows = rows_to_train_on(
            inputs.corpus, [] if alone else inputs.chosen_text.rows, None if alone else inputs.labels
        )
        epochs = sum(training.settings.epochs for training in trainings_of(inputs.recipe.distillation, alone=alone))
        return len(rows) * epochs

    return sum(read_by(alone=student_id.is_alone) for student_id in student_ids)


class _Together:
    """One progress bar for all of them, and the seconds of each in run.json."""

    def __init__(self, bar: Bar, work: RunFolder, *, students: int) -> None:
        self._bar, self._work, self._students = bar, work, students
        self._rows: dict[str, int] = {}
        self._finished = 0

    def received(self, name: str, message: Mapping[str, Any]) -> None:
        if "note" in message:
            self._work.reporter.note(message["note"], style=message["style"])
            return
        if "stage" in message:
            self._work.reporter.stage(message["stage"], message["text"], is_reused=message["is_reused"])
            return
        grown = message["rows"] - self._rows.get(name, 0)
        if grown > 0:  # one that was postponed reports rows a second time
            self._rows[name] = message["rows"]
            self._bar.advance(grown, note=f"{self._finished} of {self._students} finished")

    def finished(self, name: str, *, seconds: float) -> None:
        self._finished += 1
        self._work.record(name, seconds=seconds)

    def postponed(self, name: str) -> None:
        self._work.reporter.note(f"  {name}: not enough memory beside the others; it continues when there are fewer")


def train_for_another_process(job: Mapping[str, Any], tell: Send) -> None:
    """Train one student into its folder; run.json is written by the process that asked for it."""
    out = Path(job["out"])
    with disk_errors_as_user_errors(out, advice="Correct that, or give another folder with --out."):
        train_one(
            StudentId(**job["student_id"]),
            TrainingInputs.from_json(job["inputs"]),
            out=out,
            key=Key(**job["key"]),
            reporter=_Relay(tell),
        )


class _Relay:
    """A reporter that sends notes, and the number of rows of all bars, to the process that asked."""

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
