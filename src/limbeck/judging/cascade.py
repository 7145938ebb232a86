"""A cascade: the student answers if it is confident, else the teacher; its accuracy and its cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.metrics import Bools, Floats, Ints

MOST_POINTS = 101


@dataclass(frozen=True)
class PairedAnswers:
    """Student and teacher on the same rows: the student's confidence, and which of the two is right."""

    confidence: Floats  # (rows), of the student
    student_right: Bools  # (rows)
    teacher_right: Bools  # (rows)

    @classmethod
    def between(cls, student: ModelAnswers, teacher: TeacherAnswers) -> "PairedAnswers | None":
        """On the rows that the teacher answered, for the student's first seed; None if there are no such rows."""
        if len(teacher.places) == 0:
            return None
        known = student.at(teacher.places)
        return cls(known.confidence[0], known.correct[0], teacher.answers.correct[0])


@dataclass(frozen=True)
class Curve:
    """Accuracy and cost at every threshold of confidence, from never asking the teacher to always asking it."""

    confidences: Floats  # (points - 1): distinct values, ascending; a threshold lies between two of them
    asked: Ints  # (points): number of rows that go to the teacher
    right: Ints  # (points): number of rows that the cascade answers correctly
    rows: int

    def threshold(self, place: int) -> float:
        """If the confidence is at most this, the teacher is asked: halfway between two confidences; 0 means never, 1
        means always."""
        if place == 0:
            return 0.0
        return float(self.confidences[place - 1 : place + 1].mean()) if place < len(self.confidences) else 1.0

    def at(self, threshold: float) -> int:
        """The index of the point that a threshold gives."""
        return int(np.searchsorted(self.confidences, threshold, side="right"))

    def point(self, place: int, *, student_ms: float | None, teacher_ms: float | None) -> dict[str, Any]:
        """One point, as in the report."""
        share = float(self.asked[place] / self.rows)
        return {
            "threshold": self.threshold(place),
            "asked_share": share,
            "accuracy": float(self.right[place] / self.rows),
            "ms": None if student_ms is None or teacher_ms is None else student_ms + share * teacher_ms,
        }

    @property
    def cheapest(self) -> int:
        """The first point at least as accurate as the teacher alone; the last point always is."""
        return int(np.flatnonzero(self.right >= self.right[-1])[0])


def curve(paired: PairedAnswers) -> Curve:
    """The curve of these answers. Rows of equal confidence go to the teacher together."""
    order = np.argsort(paired.confidence, kind="stable")
    ascending = paired.confidence[order]
    gained = np.cumsum(paired.teacher_right[order].astype(np.int64) - paired.student_right[order])
    ends = np.flatnonzero(np.append(np.diff(ascending) > 0, True))  # the last row of each confidence
    return Curve(
        confidences=ascending[ends],
        asked=np.concatenate([[0], ends + 1]),
        right=paired.student_right.sum() + np.concatenate([[0], gained[ends]]),
        rows=len(ascending),
    )


def cascade(
    judged: PairedAnswers,
    *,
    dev: PairedAnswers | None = None,
    student_ms: float | None = None,
    teacher_ms: float | None = None,
) -> dict[str, Any]:
    """The keys of the report about the cascade.

    The student answers if its confidence is above a threshold, else the teacher does. A text costs the student's time,
    plus the teacher's time if that is asked:

        ms = student's p50 + asked_share · teacher's p50

    `cheapest` asks the teacher least among the points that are at least as accurate as the teacher. A threshold chosen
    on the rows it is evaluated on looks better than it is; so it is chosen on `dev`, if given, and its numbers are
    those of the judged rows. `cheapest_in_hindsight` is chosen on the judged rows themselves. Always asking is a
    cascade too, as accurate as the teacher, and more expensive.
    """
    every = curve(judged)
    hindsight = every.cheapest
    threshold = every.threshold(hindsight) if dev is None else _cheapest_threshold(dev)
    chosen = every.at(threshold)
    shown = sorted({*_spread(every, most=MOST_POINTS - 2), chosen, hindsight})
    points = {place: every.point(place, student_ms=student_ms, teacher_ms=teacher_ms) for place in shown}
    points[chosen]["threshold"] = threshold
    return {
        "rows": every.rows,
        "points": list(points.values()),
        "cheapest": points[chosen],
        "cheapest_in_hindsight": points[hindsight],
        "student_accuracy": float(judged.student_right.mean()),
        "teacher_accuracy": float(judged.teacher_right.mean()),
    }


def _cheapest_threshold(paired: PairedAnswers) -> float:
    every = curve(paired)
    return every.threshold(every.cheapest)


def _spread(every: Curve, *, most: int) -> list[int]:
    """At most `most` points, evenly spread over the share of rows asked, first and last included."""
    wanted = np.linspace(0, every.rows, most)
    return [int(place) for place in np.unique(np.searchsorted(every.asked, wanted, side="left"))]
