"""How the trainings ended: still getting better when they stopped."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from limbeck.artifacts.student_folder import StudentFolder
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known

LEAST_RISE = 0.005  # of the score on dev, from the best epoch before to the last one
FEWEST_ROWS = 2  # that such a rise must be more than


def epochs(known: Known) -> list[Finding]:
    """Trainings whose last epoch was the best one, and better by more than chance would have it."""
    return [*_of_teacher(known), *(_of_students(known) if known.has("students") else ())]


def _of_teacher(known: Known) -> Iterator[Finding]:
    path, teacher = known.teacher.folder / "history.json", known.teacher.facts
    history = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and teacher.kind == "encoder" else []
    if is_rising(history, rows=len(known.corpus.splits["dev"])):
        yield _rising(f"the teacher {teacher.name} was", history, key="teacher.epochs")


def _of_students(known: Known) -> Iterator[Finding]:
    rising = rising_students(known)
    if rising:
        seeds = len(known.students)
        who = "the student was" if seeds == 1 else f"the student was, in {len(rising)} of {seeds} seeds,"
        key = "epochs of the last of distillation.stages" if known.recipe.distillation.stages else "distillation.epochs"
        yield _rising(who, last_training(rising[0].history), key=key)


def _rising(who: str, history: Sequence[Mapping[str, Any]], *, key: str) -> Finding:
    scores = [_score(epoch) for epoch in history]
    return Finding(
        "epochs",
        "warning",
        f"{who} still getting better when training ended",
        f"the last of {len(scores)} epochs is the best: {scores[-1]:.1%} on dev, before it {max(scores[:-1]):.1%}",
        f"Raise {key}.",
    )


def rising_students(known: Known) -> list[StudentFolder]:
    """Those that ended with their best epoch, clearly better than all before."""
    rows = len(known.corpus.splits["dev"])
    return [student for student in known.students if is_rising(last_training(student.history), rows=rows)]


def last_training(history: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The epochs of the last stage; all of them where there is one training."""
    return [epoch for epoch in history if epoch.get("stage") == history[-1].get("stage")]


def is_rising(history: Sequence[Mapping[str, Any]], *, rows: int) -> bool:
    """Whether the last epoch is better than the best before it, by half a point and by more than two of the rows."""
    scores = [_score(epoch) for epoch in history]
    if len(scores) < 2:
        return False
    rise = scores[-1] - float(np.max(scores[:-1]))
    return rise > LEAST_RISE and round(rise * rows) > FEWEST_ROWS


def _score(epoch: Mapping[str, Any]) -> float:
    score: float = epoch.get("dev_score", epoch["dev_accuracy"])
    return score
