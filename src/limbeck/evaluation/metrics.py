"""Quality as pure functions of labels, predictions and probabilities; rates are fractions from 0 to 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score, precision_recall_fscore_support

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CALIBRATION_BINS = 15
BOOTSTRAP_SEED = 0  # fixed: the same predictions give the same interval


def share_equal(first: Ints, second: Ints) -> float:
    """The share of rows in which two columns of labels agree: accuracy, or agreement with the teacher."""
    return float(np.mean(first == second))


def macro_f1(labels: Ints, predicted: Ints) -> float:
    """Mean of the classes' F1, each class counting the same; classes nobody has or predicts are left out."""
    return float(f1_score(labels, predicted, average="macro", zero_division=0))


def expected_calibration_error(labels: Ints, probabilities: Floats, *, bins: int = CALIBRATION_BINS) -> float:
    """How far confidence is from accuracy, on average (Guo et al. 2017, arXiv:1706.04599, eq. 3).

        ECE = Σ_b  (n_b / n) · | accuracy(b) − mean confidence(b) |

    over bins of equal width, each with its upper edge and without its lower one. `probabilities` is (rows, classes).
    """
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == labels
    bin_of_row = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    hits = np.bincount(bin_of_row, weights=correct, minlength=bins)
    trust = np.bincount(bin_of_row, weights=confidence, minlength=bins)
    return float(np.abs(hits - trust).sum() / len(labels))


def spread(values: Sequence[float]) -> float:
    """Sample standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def accuracy_interval(correct: Bools, *, samples: int) -> tuple[float, float]:
    """95 % bootstrap interval over rows of the accuracy averaged over seeds; `correct` is (seeds, rows).

    Rows with the same average are interchangeable, so drawing how many of each kind come up is the same
    as drawing the rows one by one, and takes no time even for large splits.
    """
    kinds, counts = np.unique(correct.mean(axis=0), return_counts=True)
    rows = correct.shape[1]
    draws = np.random.default_rng(BOOTSTRAP_SEED).multinomial(rows, counts / rows, size=samples)
    return _middle_95(draws @ kinds / rows)


def gain_interval(student: Bools, baseline: Bools, *, samples: int) -> tuple[float, float]:
    """95 % bootstrap interval of how much more accurate the student is than the baseline.

    Paired: every resample takes the same rows for both. Seeds are drawn again too, so that a lucky seed widens
    the interval. Both arrays are (seeds, rows) of the same rows.
    """
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    rows = student.shape[1]
    gains = np.empty(samples)
    for sample in range(samples):
        times_drawn = np.bincount(generator.integers(0, rows, rows), minlength=rows)
        means = [_mean_of_drawn_seeds(correct @ times_drawn / rows, generator) for correct in (student, baseline)]
        gains[sample] = means[0] - means[1]
    return _middle_95(gains)


def per_class(labels: Ints, predicted: Sequence[Ints], *, names: Sequence[str]) -> list[dict[str, Any]]:
    """Precision, recall and F1 of every class, averaged over seeds, and its number of rows."""
    classes = list(range(len(names)))
    tables = [
        precision_recall_fscore_support(labels, of_seed, labels=classes, zero_division=0)[:3] for of_seed in predicted
    ]
    precision, recall, f1 = np.mean(tables, axis=0)  # each (classes,)
    support = np.bincount(labels, minlength=len(names))
    return [
        {
            "label": name,
            "precision": float(precision[number]),
            "recall": float(recall[number]),
            "f1": float(f1[number]),
            "support": int(support[number]),
        }
        for number, name in enumerate(names)
    ]


def _mean_of_drawn_seeds(accuracies: Floats, generator: np.random.Generator) -> float:
    return float(accuracies[generator.integers(0, len(accuracies), len(accuracies))].mean())


def _middle_95(values: Floats) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
