"""Confident learning (Northcutt et al. 2021, arXiv:1911.00068): which labels contradict confident answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOBODY = -1  # no class is answered with confidence
FEWEST = 5  # rows of a class that can be judged
UNLIKELY = 0.02  # of the threshold of its class: a label that is less probable is flagged, whatever else is answered


@dataclass(frozen=True)
class Doubts:
    """What the probabilities say about the label of each row."""

    is_flagged: Bools  # (rows): another class is answered with confidence, or the label is far below its threshold
    margin: Floats  # (rows): probability of the most probable other class minus that of the label; from -1 to 1
    own: Floats  # (rows): probability of the label; of several labels, of the decision that is doubted most
    suggested: Ints  # (rows), or (rows, classes) of 0 and 1

    @property
    def order(self) -> Ints:
        """All rows by self-confidence, those whose label is least probable first.

        With many classes a wrong label is improbable, but the answer that replaces it is often not sure either: neither
        the margin nor the flagged rows first would put such a row near the top.
        """
        return np.asarray(np.argsort(self.own, kind="stable"), dtype=np.int64)


def thresholds(probabilities: npt.NDArray[Any], labels: Ints) -> Floats:
    """(classes): the mean probability of a class among the rows that have it as their label, its self-confidence.

        t_c = mean over rows with label c of  p_c

    Infinite for a class with fewer than FEWEST rows, which nothing can be said about.
    """
    found = np.full(probabilities.shape[1], np.inf)
    for number in range(probabilities.shape[1]):
        has_it = labels == number
        if has_it.sum() >= FEWEST:
            found[number] = probabilities[has_it, number].mean()
    return found


def confident_classes(probabilities: npt.NDArray[Any], limits: Floats) -> Ints:
    """(rows): the most probable of the classes that reach their threshold; NOBODY if none does."""
    reaching = np.where(probabilities >= limits, probabilities, -1.0)
    return np.where(reaching.max(axis=1) >= 0, reaching.argmax(axis=1), NOBODY)


def confident_joint(probabilities: npt.NDArray[Any], labels: Ints) -> Ints:
    """(classes, classes): how many rows with label i are answered as class j with confidence."""
    classes = probabilities.shape[1]
    answered = confident_classes(probabilities, thresholds(probabilities, labels))
    known = answered != NOBODY
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (labels[known], answered[known]), 1)
    return counts


def doubts(probabilities: npt.NDArray[Any], labels: Ints) -> Doubts:
    """Which labels look wrong. Several labels per row are a yes or no for each class, and judged class by class."""
    known = np.asarray(probabilities, dtype=np.float64)
    return _of_sets(known, labels) if labels.ndim == 2 else _of_one(known, labels)


def _of_one(probabilities: Floats, labels: Ints) -> Doubts:
    rows = np.arange(len(labels))
    limits = thresholds(probabilities, labels)
    answered = confident_classes(probabilities, limits)
    others = probabilities.copy()
    own = others[rows, labels]
    others[rows, labels] = -1.0
    suggested = others.argmax(axis=1) if len(labels) else np.zeros(0, dtype=np.int64)
    is_other = (answered != NOBODY) & (answered != labels)
    is_unlikely = own < UNLIKELY * limits[labels]
    suggested = np.where(is_other, answered, suggested)
    is_flagged: Bools = np.asarray((is_other | is_unlikely) & np.isfinite(limits[labels]))
    return Doubts(is_flagged, others[rows, suggested] - own, own, suggested)


def _of_sets(probabilities: Floats, labels: Ints) -> Doubts:
    by_class = [
        _of_one(np.stack([1 - probabilities[:, number], probabilities[:, number]], axis=1), labels[:, number])
        for number in range(labels.shape[1])
    ]
    flagged = np.stack([one.is_flagged for one in by_class], axis=1)
    margins = np.stack([one.margin for one in by_class], axis=1)
    shown = np.where(flagged | ~flagged.any(axis=1, keepdims=True), margins, -np.inf)
    worst, rows = shown.argmax(axis=1), np.arange(len(labels))
    own = np.stack([one.own for one in by_class], axis=1)
    return Doubts(
        np.asarray(flagged.any(axis=1)), margins[rows, worst], own[rows, worst], np.where(flagged, 1 - labels, labels)
    )
