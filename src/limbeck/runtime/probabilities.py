"""From logits to probabilities, and from those to labels: one a row, or as many as apply."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

THRESHOLD = 0.5  # from this probability on, a label that need not be the only one applies


def probabilities_of(logits: Floats, *, multi_label: bool) -> Floats:
    """Along the last axis: together they are one, or, with several labels a row, each stands for itself."""
    return sigmoid(logits) if multi_label else softmax(logits)


def softmax(logits: Floats) -> Floats:
    """Probabilities along the last axis; the largest logit is taken off first, so that nothing overflows."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-np.inf))
    probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + e^-logit), by way of logarithms, so that nothing overflows and small ones keep their digits."""
    probabilities: Floats = np.exp(-np.logaddexp(0, -logits))
    return probabilities


def best_labels(probabilities: Floats, labels: Sequence[str]) -> list[str]:
    """The most probable label of each row; logits do as well."""
    return [labels[number] for number in probabilities.argmax(axis=1)]


def label_sets(probabilities: Floats, labels: Sequence[str]) -> list[list[str]]:
    """All labels of each row that reach the threshold, in the order of the classes; maybe none."""
    return [[labels[number] for number in np.flatnonzero(row).tolist()] for row in probabilities >= THRESHOLD]
