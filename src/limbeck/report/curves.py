"""How every student was trained: what stands in its history, epoch by epoch and step by step."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.student_folder import StudentFolder

KEYS = ("epoch", "loss", "dev_accuracy")
MOST_POINTS = 120  # of one training


def training_curves(candidates: Iterable[Candidate]) -> list[dict[str, Any]]:
    """The history of every trained student once, however many files were exported from it."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for candidate in candidates:
        for seed, student in candidate.students.items():
            found.setdefault((student.facts.name, seed), _curve(student, seed))
    return list(found.values())


def _curve(student: StudentFolder, seed: int) -> dict[str, Any]:
    return {
        "name": student.facts.name,
        "role": student.facts.role,
        "seed": seed,
        "epochs": [
            {**{key: epoch[key] for key in KEYS}, "losses": epoch.get("losses", {})} for epoch in student.history
        ],
        "points": [thinned(points) for points in student.points],
    }


def thinned(points: Sequence[dict[str, float]], *, most: int = MOST_POINTS) -> list[dict[str, float]]:
    """At most so many of them, evenly spread, the first and the last among them."""
    places = np.linspace(0, len(points) - 1, num=min(most, len(points))).round().astype(int)
    return [points[place] for place in places]
