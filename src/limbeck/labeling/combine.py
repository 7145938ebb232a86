"""Combines the logits of several teachers: pure functions."""

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Logits

Combine = Literal["mean_logits", "mean_probabilities"]
Doubles = npt.NDArray[np.float64]
LEAST = 1e-30  # lower bound of a probability, because log 0 is infinite


def combined(logits: Sequence[Logits], weights: Sequence[float], *, combine: Combine, multi_label: bool) -> Logits:
    """(rows, classes) combined logits of all teachers; those of a single teacher unchanged.

    Weights sum to 1 and none is negative. A row is NaN if it is NaN for one of the teachers.
    """
    if len(logits) == 1:
        return logits[0]
    with np.errstate(invalid="ignore", divide="ignore"):  # a missing answer, or a weight of 0, is not an error here
        match combine:
            case "mean_logits":
                return mean_logits(logits, weights)
            case "mean_probabilities" if multi_label:
                return mean_label_probabilities(logits, weights)
            case "mean_probabilities":
                return mean_probabilities(logits, weights)
            case _:
                assert_never(combine)


def mean_logits(logits: Sequence[Logits], weights: Sequence[float]) -> Logits:
    """Σ_t w_t · z_t, over the teachers t."""
    total = sum(weight * z.astype(np.float64) for weight, z in zip(weights, logits, strict=True))
    return np.asarray(total, dtype=np.float32)


def mean_probabilities(logits: Sequence[Logits], weights: Sequence[float]) -> Logits:
    """log Σ_t w_t · softmax(z_t), for rows of one label, less its mean over the classes.

    Its softmax is the weighted mean of the teachers' probabilities. The mean over the classes is subtracted because it
    carries no information, and a student trained on logits would have to fit it too. Computed from the logarithms
    log w_t + z_t - log Σ_c exp z_tc, so that neither large logits nor small probabilities are lost.
    """
    logs = [z - np.logaddexp.reduce(z, axis=1, keepdims=True) for z in _doubles(logits)]
    together = np.maximum(_log_mean(logs, weights), np.log(LEAST))
    return np.asarray(together - together.mean(axis=1, keepdims=True), dtype=np.float32)


def mean_label_probabilities(logits: Sequence[Logits], weights: Sequence[float]) -> Logits:
    """log p - log(1 - p) of p = Σ_t w_t · sigmoid(z_t), class by class, for rows of any number of labels.

    1 - p is Σ_t w_t · sigmoid(-z_t), and log sigmoid(z) is -log(1 + exp(-z)): no difference of two numbers near 1.
    """
    doubles = _doubles(logits)
    log_yes = _log_mean([-np.logaddexp(0.0, -z) for z in doubles], weights)
    log_no = _log_mean([-np.logaddexp(0.0, z) for z in doubles], weights)
    floor = np.log(LEAST)
    return (np.maximum(log_yes, floor) - np.maximum(log_no, floor)).astype(np.float32)


def _doubles(logits: Sequence[Logits]) -> list[Doubles]:
    return [z.astype(np.float64) for z in logits]


def _log_mean(logs: Sequence[Doubles], weights: Sequence[float]) -> Doubles:
    """log Σ_t w_t · exp(log_t)."""
    weighted = [np.log(weight) + log for weight, log in zip(weights, logs, strict=True)]
    return np.asarray(np.logaddexp.reduce(weighted, axis=0), dtype=np.float64)
