"""Student and teacher together: accuracy and cost at every threshold of the student's confidence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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

    def spread(self, most: int) -> list[int]:
        """At most this many points, evenly spread over the share of rows asked, first and last included."""
        wanted = np.linspace(0, self.rows, most)
        return [int(place) for place in np.unique(np.searchsorted(self.asked, wanted, side="left"))]


def curve_of(confidence: Floats, *, student_right: Bools, teacher_right: Bools) -> Curve:
    """The curve of a student with this confidence in each row. Rows of equal confidence go to the teacher together."""
    order = np.argsort(confidence, kind="stable")
    ascending = confidence[order]
    gained = np.cumsum(teacher_right[order].astype(np.int64) - student_right[order])
    ends = np.flatnonzero(np.append(np.diff(ascending) > 0, True))  # the last row of each confidence
    return Curve(
        confidences=ascending[ends],
        asked=np.concatenate([[0], ends + 1]),
        right=student_right.sum() + np.concatenate([[0], gained[ends]]),
        rows=len(ascending),
    )
