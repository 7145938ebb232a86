"""A cascade: the student answers if it is confident, else the teacher; its accuracy and its cost."""

from dataclasses import dataclass
from typing import Any

from limbeck.judging.answers import ModelAnswers, TeacherAnswers
from limbeck.judging.metrics import Bools, Floats
from limbeck.training.threshold_curve import Curve, curve_of

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


def curve(paired: PairedAnswers) -> Curve:
    """The curve of these answers."""
    return curve_of(paired.confidence, student_right=paired.student_right, teacher_right=paired.teacher_right)


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
    shown = sorted({*every.spread(MOST_POINTS - 2), chosen, hindsight})
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
