"""Rows on which student and teacher disagree, to be read by a person."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.artifacts.rows import Rows
from limbeck.judging.answers import Answers, TeacherAnswers
from limbeck.judging.metrics import Ints, rows_equal

MOST_ROWS = 20
MOST_CHARACTERS = 1_000  # of a text; what comes behind them is cut off


def worst_errors(
    rows: Rows, *, student: Answers, teacher: TeacherAnswers, names: Sequence[str], most: int = MOST_ROWS
) -> list[dict[str, Any]]:
    """At most so many of the rows the teacher answered, those first of which the student is surest.

    Either may be right: `label` tells. Probabilities are those of the answer each has given; where a row may have
    several labels, all three are lists, and the probability is that of the whole set.
    """
    known, other = student.at(teacher.places), teacher.answers
    differing = np.flatnonzero(~rows_equal(known.predicted[0], other.predicted[0]))
    surest = differing[np.argsort(-known.confidence[0][differing], kind="stable")][:most]
    shown = rows.select(teacher.places[surest])
    return [
        {
            "text": _cut(shown.texts[position]),
            "pair": None if shown.pairs is None else _cut(shown.pairs[position]),
            "label": _named(known.labels[place], names),
            "student": _named(known.predicted[0][place], names),
            "teacher": _named(other.predicted[0][place], names),
            "student_probability": float(known.confidence[0][place]),
            "teacher_probability": float(other.confidence[0][place]),
        }
        for position, place in enumerate(surest.tolist())
    ]


def _named(label: Ints | np.int64, names: Sequence[str]) -> str | list[str]:
    """The name of a class, or those of a set of them."""
    if np.ndim(label) == 0:
        return names[int(label)]
    return [names[number] for number in np.flatnonzero(label).tolist()]


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS].rstrip()}…"
