"""How good a language model is on labelled rows: confusion, calibration, and the positions that it prefers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chisquare

from limbeck.artifacts.rows import Rows
from limbeck.teacher.endpoints.questions import Questions

BINS = 15
Ints = npt.NDArray[np.int64]


def measured(
    logits: npt.NDArray[np.float32], rows: Rows, questions: Questions, *, temperature: float
) -> dict[str, Any]:
    """For quality.json, of rows that have a label and an answer."""
    found: dict[str, Any] = {
        "rows": len(rows),
        "temperature": temperature,
        "ece": calibration_error(logits, rows.labels),
        "ece_tempered": calibration_error(logits / np.float32(temperature), rows.labels),
    }
    if rows.labels.ndim == 1:
        counts = np.zeros((logits.shape[1], logits.shape[1]), dtype=np.int64)
        np.add.at(counts, (rows.labels, logits.argmax(axis=1)), 1)
        found["confusion"] = counts.tolist()
        found["positions"] = positions_of(logits, rows.texts, rows.pairs, questions).tolist()
    return found


def calibration_error(logits: npt.NDArray[np.float32], labels: Ints) -> float:
    """Expected calibration error of the most probable class, in 15 bins (Guo et al. 2017); with several labels per row,
    of every class."""
    z = logits.astype(np.float64)
    if labels.ndim == 2:
        yes = 1 / (1 + np.exp(-z))
        sure, is_right = np.maximum(yes, 1 - yes).ravel(), ((yes >= 0.5) == (labels == 1)).ravel()
    else:
        powers = np.exp(z - z.max(axis=1, keepdims=True))
        sure = (powers / powers.sum(axis=1, keepdims=True)).max(axis=1)
        is_right = z.argmax(axis=1) == labels
    bins = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, weights=sure - is_right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(sure)) if len(sure) else 0.0


def positions_of(
    logits: npt.NDArray[np.float32], texts: Sequence[str], pairs: Sequence[str] | None, questions: Questions
) -> Ints:
    """(classes): how often the answer was the choice at each position of the list. The order of a question follows from
    its text, so nothing about it has to be kept."""
    counts = np.zeros(len(questions.labels), dtype=np.int64)
    answers = logits.argmax(axis=1).tolist()
    for number, text in enumerate(texts):
        order = questions.order_of(text, None if pairs is None else pairs[number])
        counts[order.index(answers[number])] += 1
    return counts


def p_of_positions(counts: Sequence[int]) -> float:
    """The probability of counts as uneven as these, or more, if every position were answered as often (chi-square)."""
    return float(chisquare(counts).pvalue) if sum(counts) else 1.0
