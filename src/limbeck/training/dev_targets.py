"""What models are compared by on dev: its labels and, if they are few, the teacher's probabilities too (no torch)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.training.temperature import fitted_temperature

TEACHER_ROWS = 100  # labelled rows that the teacher's answers on dev are worth: docs/evaluation.md#the-best-model
MOST_ERRORS = 2.0  # by which a teacher may be behind and still count
SURELY_EQUAL = 1e-12
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]


def dev_targets(labels: Ints, *, teacher: npt.NDArray[Any] | None, models: Sequence[npt.NDArray[Any]]) -> Floats:
    """(rows, classes): the distribution that a model should give for each row of dev.

        q = (1 - s) · label + s · teacher's probabilities,   s = c · 100 / (rows + 100)

    A few dozen labels hardly tell models apart: one row more or less is a point of accuracy. The teacher's
    probabilities say something about every class of every row. They count less the clearer the teacher is worse on dev
    than the best of the models (`credibility`, c), and for nothing if it has no logits for these rows.

    Of scores, the targets are (rows, 1): the same sum of the scores of dev and the teacher's.
    """
    if labels.dtype.kind == "f":
        return _score_targets(labels, teacher=teacher, models=models)
    classes = models[0].shape[1] if models else 0 if teacher is None else teacher.shape[1]
    own = labels.astype(np.float64) if labels.ndim == 2 else np.eye(classes)[labels]
    share = teacher_share(labels, teacher=teacher, models=models)
    if teacher is None or not share:
        return own
    answers = probabilities(teacher / fitted_temperature(teacher, labels), multi_label=labels.ndim == 2)
    return (1 - share) * own + share * answers


def _score_targets(scores: Floats, *, teacher: npt.NDArray[Any] | None, models: Sequence[npt.NDArray[Any]]) -> Floats:
    own = scores.astype(np.float64)[:, np.newaxis]
    share = teacher_share(scores, teacher=teacher, models=models)
    if teacher is None or not share:
        return own
    return (1 - share) * own + share * teacher.astype(np.float64)


def squared_error(outputs: npt.NDArray[Any], targets: Floats) -> float:
    """Mean over rows of the squared difference of outputs (rows, 1) and targets (rows, 1), in standard units."""
    return float(np.mean((outputs.astype(np.float64) - targets) ** 2))


def teacher_share(labels: Ints, *, teacher: npt.NDArray[Any] | None, models: Sequence[npt.NDArray[Any]]) -> float:
    """The share of the teacher's probabilities in the targets of these rows; 0 without a teacher."""
    if teacher is None:
        return 0.0
    return credibility(teacher, models, labels) * TEACHER_ROWS / (len(labels) + TEACHER_ROWS)


def credibility(teacher: npt.NDArray[Any], models: Sequence[npt.NDArray[Any]], labels: Ints) -> float:
    """How likely a gap as large as that between it and the best of the models is by chance; 1 if it is not worse, 0
    beyond two standard errors.

        c = erfc(z / √2),   z = the mean of the paired differences / its standard error
    """
    right = [_right(logits, labels) for logits in (teacher, *models)]
    best = max(right[1:], key=np.mean, default=right[0])
    differences = best - right[0]
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    behind = float(differences.mean())
    if behind <= SURELY_EQUAL:
        return 1.0
    return math.erfc(behind / error / math.sqrt(2)) if behind <= MOST_ERRORS * error else 0.0


def _right(logits: npt.NDArray[Any], labels: Ints) -> Floats:
    """(rows): the share of right answers; with several labels per row, of its classes; of scores, minus the squared
    error."""
    if labels.dtype.kind == "f":
        return np.asarray(-((logits[:, 0] - labels) ** 2), dtype=np.float64)
    if labels.ndim == 2:
        return np.asarray(((logits > 0) == (labels == 1)).mean(axis=1), dtype=np.float64)
    return np.asarray(logits.argmax(axis=1) == labels, dtype=np.float64)


def probabilities(logits: npt.NDArray[Any], *, multi_label: bool) -> Floats:
    """Softmax, or for every class alone the sigmoid."""
    z = logits.astype(np.float64)
    if multi_label:
        found: Floats = np.exp(-np.logaddexp(0.0, -z))
        return found
    return np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))


def cross_entropy(
    logits: npt.NDArray[Any], targets: Floats, *, multi_label: bool, temperature: float = 1.0, weights: Any = 1.0
) -> float:
    """Mean over rows, each with its weight, in nats:  - Σ_c q_c log softmax(z / T)_c.

    With several labels per row:  - Σ_c  q_c log σ(z_c / T) + (1 - q_c) log σ(-z_c / T).
    """
    z = logits.astype(np.float64) / temperature
    if multi_label:
        of_rows = (np.logaddexp(0.0, z) - targets * z).sum(axis=1)
    else:
        of_rows = np.logaddexp.reduce(z, axis=1) - (targets * z).sum(axis=1)
    return float(np.mean(weights * of_rows))


def expected_correct(predicted: Ints, targets: Floats) -> Floats:
    """(rows): how likely each prediction is right, if the targets are true; 0 or 1 if they are labels.

    With several labels per row, where `predicted` has 0 and 1 for every class: the mean over classes.
    """
    if predicted.ndim == 2:
        return np.asarray(np.where(predicted == 1, targets, 1 - targets).mean(axis=1), dtype=np.float64)
    return np.take_along_axis(targets, predicted[:, np.newaxis], axis=1)[:, 0]


def expected_macro_f1(predicted: Ints, targets: Floats) -> float:
    """The mean over classes of  2 Σ_i q_ic [i is predicted as c] / (Σ_i q_ic + Σ_i [i is predicted as c]).

    If the targets are labels, that is macro F1 over the classes that labels or predictions have. `predicted` has a
    class for each row, or 0 and 1 for every class.
    """
    chosen = predicted if predicted.ndim == 2 else np.eye(targets.shape[1])[predicted]
    totals = targets.sum(axis=0) + chosen.sum(axis=0)
    seen = totals > 0
    return float((2 * (chosen * targets).sum(axis=0)[seen] / totals[seen]).mean()) if seen.any() else 0.0
