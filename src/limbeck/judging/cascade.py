"""The student where it is sure, the teacher where it is not: what that is worth, and what it costs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.metrics import Bools, Floats, Ints

MOST_POINTS = 101


@dataclass(frozen=True)
class Duel:
    """Student and teacher on the same rows: how sure the student is, and who is right."""

    confidence: Floats  # (rows), of the student
    student_right: Bools  # (rows)
    teacher_right: Bools  # (rows)

    @classmethod
    def between(cls, student: ModelAnswers, teacher: TeacherAnswers) -> "Duel | None":
        """On the rows that the teacher answered, by the first seed of the student; None where there is none."""
        if len(teacher.places) == 0:
            return None
        known = student.at(teacher.places)
        return cls(known.confidence[0], known.correct[0], teacher.answers.correct[0])


@dataclass(frozen=True)
class Curve:
    """Every way to part the rows by a threshold of confidence, from asking the teacher never to asking always."""

    confidences: Floats  # (points - 1): those there are, rising; between two of them lies a threshold
    asked: Ints  # (points): rows that the teacher is asked about
    right: Ints  # (points): rows that are right in the end
    rows: int

    def threshold(self, place: int) -> float:
        """Where the confidence is at most this, the teacher is asked: halfway between two confidences; 0 is never, 1
        is always."""
        if place == 0:
            return 0.0
        return float(self.confidences[place - 1 : place + 1].mean()) if place < len(self.confidences) else 1.0

    def at(self, threshold: float) -> int:
        """The place that a threshold leads to."""
        return int(np.searchsorted(self.confidences, threshold, side="right"))

    def point(self, place: int, *, student_ms: float | None, teacher_ms: float | None) -> dict[str, Any]:
        """One of them as it stands in the report."""
        share = float(self.asked[place] / self.rows)
        return {
            "threshold": self.threshold(place),
            "asked_share": share,
            "accuracy": float(self.right[place] / self.rows),
            "ms": None if student_ms is None or teacher_ms is None else student_ms + share * teacher_ms,
        }

    @property
    def cheapest(self) -> int:
        """The first point at which no fewer rows are right than by the teacher alone; the last one always is such."""
        return int(np.flatnonzero(self.right >= self.right[-1])[0])


def curve(duel: Duel) -> Curve:
    """Rows of one confidence are asked about together."""
    order = np.argsort(duel.confidence, kind="stable")
    rising = duel.confidence[order]
    gained = np.cumsum(duel.teacher_right[order].astype(np.int64) - duel.student_right[order])
    ends = np.flatnonzero(np.append(np.diff(rising) > 0, True))  # the last row of each confidence
    return Curve(
        confidences=rising[ends],
        asked=np.concatenate([[0], ends + 1]),
        right=duel.student_right.sum() + np.concatenate([[0], gained[ends]]),
        rows=len(rising),
    )


def cascade(
    judged: Duel, *, dev: Duel | None = None, student_ms: float | None = None, teacher_ms: float | None = None
) -> dict[str, Any]:
    """The keys of the report about the cascade.

    Answer with the student where its confidence is above a threshold, else ask the teacher. A text costs the student's
    time, and the teacher's too where it is asked:

        ms = student's p50 + asked_share · teacher's p50

    `cheapest` asks least among those that are at least as accurate as the teacher. A threshold that is chosen on the
    rows it is judged on looks better than it is; so it is chosen on `dev`, where there is one, and its numbers are
    those of the judged rows. `cheapest_in_hindsight` is chosen on the judged rows themselves. Asking always is a
    cascade too, as accurate as the teacher, and dearer.
    """
    whole = curve(judged)
    hindsight = whole.cheapest
    threshold = whole.threshold(hindsight) if dev is None else _cheapest_threshold(dev)
    chosen = whole.at(threshold)
    shown = sorted({*_spread(whole, most=MOST_POINTS - 2), chosen, hindsight})
    points = {place: whole.point(place, student_ms=student_ms, teacher_ms=teacher_ms) for place in shown}
    points[chosen]["threshold"] = threshold
    return {
        "rows": whole.rows,
        "points": list(points.values()),
        "cheapest": points[chosen],
        "cheapest_in_hindsight": points[hindsight],
        "student_accuracy": float(judged.student_right.mean()),
        "teacher_accuracy": float(judged.teacher_right.mean()),
    }


def _cheapest_threshold(duel: Duel) -> float:
    whole = curve(duel)
    return whole.threshold(whole.cheapest)


def _spread(whole: Curve, *, most: int) -> list[int]:
    """At most so many points, evenly spread over the share of rows asked; first and last are among them."""
    wanted = np.linspace(0, whole.rows, most)
    return [int(place) for place in np.unique(np.searchsorted(whole.asked, wanted, side="left"))]
