"""From logits to probabilities, and from probabilities to confidence and labels: one per row, or all that apply."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

FEW = 16  # numbers: for so few, plain Python is faster than numpy
THRESHOLD = 0.5  # multi-label: a label applies from this probability on


def probabilities_of(logits: Floats, *, multi_label: bool) -> Floats:
    """Probabilities along the last axis: they sum to one or, multi-label, are independent."""
    return sigmoid(logits) if multi_label else softmax(logits)


def softmax(logits: Floats) -> Floats:
    """Softmax along the last axis; the largest logit is subtracted first, so that nothing overflows."""
    if logits.size <= FEW and logits.ndim == 2 and len(logits) == 1:
        return _softmax_of_one(logits)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-np.inf))
    probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities


def _softmax_of_one(logits: Floats) -> Floats:
    """The same for one row, without five numpy calls, each of which takes longer than all of this."""
    (row,) = logits.tolist()
    largest = max(row)
    powers = [math.exp(logit - largest) for logit in row]
    total = sum(powers)
    return np.array([[power / total for power in powers]], dtype=logits.dtype)


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + e^-logit), computed in logarithms, so that nothing overflows and small values keep their digits."""
    probabilities: Floats = np.exp(-np.logaddexp(0, -logits))
    return probabilities


def confidence(probabilities: npt.NDArray[Any], *, multi_label: bool) -> npt.NDArray[np.float64]:
    """(…, rows): the probability of the prediction, from (…, rows, classes).

    That of the most probable label. Multi-label: the probability that the decision for every class is right, if they
    were independent: the product over the classes of max(p, 1 - p).
    """
    known = np.asarray(probabilities, dtype=np.float64)
    if multi_label:
        return np.asarray(np.maximum(known, 1 - known).prod(axis=-1))
    return np.asarray(known.max(axis=-1))


def best_labels(probabilities: Floats, labels: Sequence[str]) -> list[str]:
    """The most probable label of each row; also works for logits."""
    if len(probabilities) == 1:
        (row,) = probabilities.tolist()
        return [labels[row.index(max(row))]]
    return [labels[number] for number in probabilities.argmax(axis=1).tolist()]


def label_sets(probabilities: Floats, labels: Sequence[str]) -> list[list[str]]:
    """All labels of each row that reach the threshold, in the order of the classes; possibly none."""
    return [[labels[number] for number in np.flatnonzero(row).tolist()] for row in probabilities >= THRESHOLD]
