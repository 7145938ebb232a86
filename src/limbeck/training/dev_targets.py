"""What models are compared by on dev: its labels and, if they are few, the teacher's probabilities too (no torch)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.training.temperature import fitted_temperature

TEACHER_ROWS = 100  # labelled rows that the teacher's answers on dev are worth: docs/evaluation.md#the-best-model
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]


def dev_targets(labels: Ints, *, teacher: npt.NDArray[Any] | None, models: Sequence[npt.NDArray[Any]]) -> Floats:
    """(rows, classes): the distribution that a model should give for each row of dev.

        q = λ · label + (1 - λ) · teacher's probabilities,   λ = rows / (rows + 100)

    A few dozen labels hardly tell models apart: one row more or less is a point of accuracy. The teacher's
    probabilities say something about every class of every row. They count for nothing if the teacher is worse on dev
    than the best of the models by more than two standard errors (of several models, one is lucky on few rows), or has
    no logits for these rows.

    Of scores, the targets are (rows, 1): the same sum of the scores of dev and the teacher's.
    """
    if labels.dtype.kind == "f":
        return _score_targets(labels, teacher=teacher, models=models)
    classes = models[0].shape[1] if models else 0 if teacher is None else teacher.shape[1]
    own = labels.astype(np.float64) if labels.ndim == 2 else np.eye(classes)[labels]
    share = 0.0 if teacher is None or not _is_credible(teacher, models, labels) else teacher_share(len(labels))
    if teacher is None or not share:
        return own
    answers = probabilities(teacher / fitted_temperature(teacher, labels), multi_label=labels.ndim == 2)
    return (1 - share) * own + share * answers


def _score_targets(scores: Floats, *, teacher: npt.NDArray[Any] | None, models: Sequence[npt.NDArray[Any]]) -> Floats:
    own = scores.astype(np.float64)[:, np.newaxis]
    if teacher is None or not _is_credible(teacher, models, scores):
        return own
    share = teacher_share(len(scores))
    return (1 - share) * own + share * teacher.astype(np.float64)


def squared_error(outputs: npt.NDArray[Any], targets: Floats) -> float:
    """Mean over rows of the squared difference of outputs (rows, 1) and targets (rows, 1), in standard units."""
    return float(np.mean((outputs.astype(np.float64) - targets) ** 2))


def teacher_share(rows: int) -> float:
    """The share of the teacher's probabilities in the targets of so many rows."""
    return TEACHER_ROWS / (rows + TEACHER_ROWS)


def _is_credible(teacher: npt.NDArray[Any], models: Sequence[npt.NDArray[Any]], labels: Ints) -> bool:
    """Whether it is not worse than the best of the models beyond two standard errors of the paired difference."""
    right = [_right(logits, labels) for logits in (teacher, *models)]
    best = max(right[1:], key=np.mean, default=right[0])
    differences = best - right[0]
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return bool(differences.mean() <= 2 * error + 1e-12)


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
