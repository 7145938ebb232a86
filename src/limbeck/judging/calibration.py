"""How reliable probabilities are: confidence bins, calibration error, and the KL divergence from the teacher's."""

from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.judging.metrics import Bools, Floats, Ints
from limbeck.runtime.probabilities import confidence

BINS = 15
Bins = Floats  # (3, bins), see `binned`


def expected_calibration_error(labels: Ints, probabilities: Floats, *, bins: int = BINS) -> float:
    """How far confidence is from accuracy, on average (Guo et al. 2017, arXiv:1706.04599, eq. 3).

        ECE = Σ_b  (n_b / n) · | accuracy(b) − mean confidence(b) |

    over bins of equal width, each with its upper edge and without its lower one. `probabilities` is (rows, classes).
    Multi-label: every pair of row and class counts as one answer: how often the label applies, against its predicted
    probability.
    """
    return error_of(binned(labels, probabilities, bins=bins))


def error_of(found: Bins) -> float:
    """The calibration error of bins; those of parts of the rows may be added up."""
    sums, hits, rows = found
    return float(np.abs(hits - sums).sum() / rows.sum())


def reliability(labels: Ints, probabilities: Floats, *, bins: int = BINS) -> list[dict[str, Any]]:
    """The same bins one by one, without empty ones: mean confidence, accuracy, and number of rows.

    It is the reliability diagram of Guo et al. 2017, figure 1. Multi-label: `rows` counts pairs of row and class.
    """
    sums, hits, rows = binned(labels, probabilities, bins=bins)
    return [
        {
            "confidence": float(sums[number] / rows[number]),
            "accuracy": float(hits[number] / rows[number]),
            "rows": int(n),
        }
        for number, n in enumerate(rows.tolist())
        if n
    ]


def kl(teacher_logits: npt.NDArray[Any], logits: npt.NDArray[Any], *, multi_label: bool) -> float:
    """Kullback-Leibler divergence from the teacher's probabilities to the model's, mean over rows, in nats.

        KL = mean over rows of  Σ_c p_c · (log p_c - log q_c)          p teacher, q model, both at temperature 1

    Multi-label: the divergence of each class's Bernoulli distribution, summed over the classes. 0 if and only if both
    give the same probabilities for every row.
    """
    p, q = (_logs(one, multi_label=multi_label) for one in (teacher_logits, logits))
    return float((np.exp(p) * (p - q)).sum() / len(p))


def log_probabilities(logits: npt.NDArray[Any]) -> Floats:
    """Log-softmax along the last axis, for rows of one label; never minus infinity."""
    z = logits.astype(np.float64)
    return np.asarray(z - np.logaddexp.reduce(z, axis=-1, keepdims=True))


def _logs(logits: npt.NDArray[Any], *, multi_label: bool) -> Floats:
    """(rows, outcomes): log probabilities of the classes; multi-label: of each class being present and absent."""
    if not multi_label:
        return log_probabilities(logits)
    z = logits.astype(np.float64)
    return np.concatenate([-np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)], axis=-1)


def log_losses(labels: Ints, logits: npt.NDArray[Any]) -> Floats:
    """(rows): the negative log-likelihood of each row's label; multi-label: summed over every class's yes or no."""
    logs = _logs(logits, multi_label=labels.ndim == 2)
    if labels.ndim == 2:
        return np.asarray(-np.where(np.concatenate([labels, 1 - labels], axis=-1) == 1, logs, 0.0).sum(axis=-1))
    return np.asarray(-np.take_along_axis(logs, labels[:, np.newaxis], axis=1)[:, 0])


def binned(labels: Ints, probabilities: Floats, *, bins: int = BINS) -> Bins:
    """(3, bins): the sum of confidences, the number of correct answers, and the number of answers."""
    confident, correct = _answers(labels, probabilities)
    bin_of_answer = np.clip(np.ceil(confident * bins).astype(int) - 1, 0, bins - 1)
    columns = (confident, correct, np.ones(len(correct)))
    return np.stack([np.bincount(bin_of_answer, weights=what, minlength=bins) for what in columns])


def _answers(labels: Ints, probabilities: Floats) -> tuple[Floats, Bools]:
    if labels.ndim == 2:
        return probabilities.reshape(-1), labels.reshape(-1) == 1
    return confidence(probabilities, multi_label=False), np.asarray(probabilities.argmax(axis=1) == labels)
