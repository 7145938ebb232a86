"""A cascade of scores: where the student's score is near the threshold that decides, the teacher's takes its place."""

from typing import Any

import numpy as np

from limbeck.judging.cascade import PairedAnswers, cascade
from limbeck.judging.metrics import Floats


def paired_at(true: Floats, student: Floats, teacher: Floats, *, threshold: float, span: float) -> PairedAnswers | None:
    """Student and teacher on the same rows, each right where it is on the true side of the threshold; the confidence is
    the student's distance to it, as a share of the range of scores. None without rows."""
    if not len(true):
        return None
    above = true >= threshold
    return PairedAnswers(
        np.minimum(np.abs(student - threshold) / span, 1.0),
        (student >= threshold) == above,
        (teacher >= threshold) == above,
    )


def score_cascade(
    judged: PairedAnswers,
    *,
    threshold: float,
    span: float,
    dev: PairedAnswers | None = None,
    student_ms: float | None = None,
    teacher_ms: float | None = None,
) -> dict[str, Any]:
    """The keys of `judging.cascade.cascade` about decisions at the threshold; a point has a `width` in the units of the
    scores: the teacher is asked where the student's score is at most so far from the threshold."""
    found = cascade(judged, dev=dev, student_ms=student_ms, teacher_ms=teacher_ms)
    chosen = {name: _wide(found[name], span) for name in ("cheapest", "cheapest_in_hindsight")}
    return {
        **found,
        **chosen,
        "points": [_wide(point, span) for point in found["points"]],
        "score_threshold": threshold,
    }


def _wide(point: dict[str, Any], span: float) -> dict[str, Any]:
    others = {name: value for name, value in point.items() if name not in ("threshold", "width")}
    return {"width": point["threshold"] * span, **others}
