"""Which model ships as the best: chosen on dev, where differences within noise count as none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.judging.metrics import Floats


@dataclass(frozen=True, eq=False)  # two of them are the same only if they are one
class Contender:
    """A shipped file and its answers on dev."""

    name: str
    student: str  # the student that it was exported from; its fp32 and its int8 file have the same
    is_int8: bool
    score: float  # accuracy, or macro F1, by the targets of dev (limbeck.training.dev_targets)
    correct: Floats  # (rows of dev): whether a row is right, or how likely that is
    log_loss: float  # at its temperature, to the targets; every class counts the same if the score is macro F1
    size_mb: float
    weights: Floats | None = None  # (rows of dev), with mean one: every class counts the same if the score is macro F1
    is_baseline: bool = False
    is_blend: bool = False


@dataclass(frozen=True)
class Choice:
    """The best, and those that are no worse beyond noise."""

    best: str
    equal: tuple[str, ...]  # in the order of the contenders, the best included

    def as_json(self, *, by: str, rows: int, teacher_share: float) -> dict[str, Any]:
        """As in the report: what was compared, on how many rows, and how much the teacher's answers counted there."""
        return {"by": by, "rows": rows, "teacher_share": round(teacher_share, 3), "equal": list(self.equal)}


def choose(contenders: Sequence[Contender], *, max_size_mb: float | None = None) -> Choice | None:
    """The best of the contenders within the size limit; None if there is none.

    Contenders within one standard error of the highest score count as equal; of them, a blend wins, as several students
    are rarely wrong together, whatever dev says of one of them on few rows. Without one, the lowest log-loss wins: it
    sees on every row what the score sees only where a label changes. A student without a teacher wins only if no other
    is within two standard errors of it: on few rows of dev one of several is ahead by luck. If the best is an fp32 file
    and the int8 file of the same student is equal to it, the int8 file wins, because it is smaller and faster.
    """
    allowed = [one for one in contenders if max_size_mb is None or one.size_mb <= max_size_mb]
    if not allowed:
        return None
    highest = max(allowed, key=lambda one: (one.score, -one.log_loss, -one.size_mb))
    equal = [
        one
        for one in allowed
        if is_equal(highest, one, errors=2.0 if highest.is_baseline and not one.is_baseline else 1.0)
    ]
    best = min(equal, key=lambda one: (not one.is_blend, one.is_baseline, one.log_loss, -one.score, one.size_mb))
    smaller = (one for one in allowed if one.student == best.student and one.is_int8 and is_equal(best, one))
    best = best if best.is_int8 else next(smaller, best)
    return Choice(best.name, tuple(one.name for one in allowed if one in equal or one is best))


def is_equal(better: Contender, other: Contender, *, errors: float = 1.0) -> bool:
    """Whether the other's score is no more than so many standard errors below.

    The standard error is that of the mean paired difference of correctness, over the rows of dev, each row i with its
    weight:

        SE = sd(wᵢ · (right of one - right of other)) / √rows
    """
    differences = better.correct - other.correct
    differences *= 1.0 if better.weights is None else better.weights
    error = float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else 0.0
    return better.score - other.score <= errors * error + 1e-12
