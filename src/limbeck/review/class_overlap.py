"""Pairs of classes that labels and models confuse, with how often and an example of each direction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from limbeck.review.answers import JudgedSplit
from limbeck.runtime.probabilities import THRESHOLD

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Confusion:
    """Rows of one class that are answered as another."""

    rows: int = 0
    surest: float = 0.0
    example: str = ""


@dataclass(frozen=True)
class ClassPair:
    """Two classes, and their rows that are answered as the other one."""

    first: str
    second: str
    rows: int  # labelled as one of the two
    forth: Confusion  # labelled as the first, answered as the second
    back: Confusion

    @property
    def confused(self) -> int:
        """In both directions."""
        return self.forth.rows + self.back.rows

    @property
    def share(self) -> float:
        """Of the rows of both classes."""
        return self.confused / max(1, self.rows)


def overlapping_classes(judged: Sequence[JudgedSplit], names: Sequence[str]) -> list[ClassPair]:
    """All pairs of classes with a confused row, the most confused first; by answers of models that have not trained on
    the rows. With several labels per row: rows that lack one of the two in the answer and have the other one instead.
    """
    found: dict[tuple[int, int], Confusion] = {}
    sizes = np.zeros(len(names), dtype=np.int64)
    for split in judged:
        labels = split.rows.labels
        sizes += (labels == 1).sum(axis=0) if labels.ndim == 2 else np.bincount(labels, minlength=len(names))
        for at, label, answer in _confused(split):
            before, sure = found.get((label, answer), Confusion()), float(split.probabilities[at, answer])
            is_surer = sure > before.surest
            example = _text(split, at) if is_surer else before.example
            found[label, answer] = Confusion(before.rows + 1, max(sure, before.surest), example)
    pairs = {(min(pair), max(pair)) for pair in found}
    entries = [
        ClassPair(
            first=names[one],
            second=names[other],
            rows=int(sizes[one] + sizes[other]),
            forth=found.get((one, other), Confusion()),
            back=found.get((other, one), Confusion()),
        )
        for one, other in pairs
    ]
    return sorted(entries, key=lambda pair: (-pair.confused, -pair.share, pair.first, pair.second))


def _confused(split: JudgedSplit) -> Iterator[tuple[int, int, int]]:
    """Position, class of the label, class of the answer."""
    labels = split.rows.labels
    if labels.ndim == 1:
        answers = split.probabilities.argmax(axis=1)
        for at in np.flatnonzero(answers != labels).tolist():
            yield at, int(labels[at]), int(answers[at])
        return
    answers = (split.probabilities >= THRESHOLD).astype(np.int64)
    for at in np.flatnonzero((answers != labels).any(axis=1)).tolist():
        for label in np.flatnonzero(labels[at] > answers[at]).tolist():
            for answer in np.flatnonzero(answers[at] > labels[at]).tolist():
                yield at, label, answer


def _text(split: JudgedSplit, at: int) -> str:
    text = split.rows.texts[at]
    return text if split.rows.pairs is None else f"{text} ⇄ {split.rows.pairs[at]}"
