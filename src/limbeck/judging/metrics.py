"""Quality as pure functions of labels, predictions and probabilities; rates are fractions from 0 to 1.

The base install has all but `mcc` and `roc_auc`, which are scikit-learn's.

Labels and predictions are (rows) class numbers; multi-label: (rows, classes) of 0 and 1. A label below 0 is of no
class: every answer to such a row is wrong, and it is no class of its own in means over classes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Scores = tuple[Floats, Floats, Floats]  # precision, recall, F1, each (classes); 0 if the denominator is 0

Z_95 = 1.96  # a normal distribution has 95 % within this many standard deviations of its mean
BOOTSTRAP_SEED = 0  # fixed: the same predictions give the same interval


def share_equal(first: Ints, second: Ints) -> float:
    """The share of rows in which two tables of labels agree in every label: accuracy, or agreement with the teacher."""
    return float(np.mean(rows_equal(first, second)))


def rows_equal(first: Ints, second: Ints) -> Bools:
    """(rows): whether a row has the same label, or the same set of labels, in both."""
    same = np.asarray(first == second)
    return same if same.ndim == 1 else np.asarray(same.all(axis=1))


def macro_f1(labels: Ints, predicted: Ints) -> float:
    """Mean of the classes' F1, each class counting the same.

    Classes without any row or prediction are ignored; multi-label: they count as 0. Both as scikit-learn does.
    """
    return _average_scores(labels, predicted, weighted=False)[2]


def micro_f1(labels: Ints, predicted: Ints) -> float:
    """F1 over all pairs of row and class together, for (rows, classes): frequent classes count more."""
    total = labels.sum() + predicted.sum()
    return float(2 * (labels & predicted).sum() / total) if total else 0.0


def hamming_loss(labels: Ints, predicted: Ints) -> float:
    """The share of wrong answers over all pairs of row and class, for (rows, classes)."""
    return float(np.mean(labels != predicted))


def confusion(labels: Ints, predicted: Ints, *, classes: int) -> list[list[int]]:
    """How many rows of each true class (rows of the table) were given each class (columns)."""
    has_class = labels >= 0
    counts = np.bincount(labels[has_class] * classes + predicted[has_class], minlength=classes**2)
    return [[int(count) for count in row] for row in counts.reshape(classes, classes)]


def mcc(labels: Ints, predicted: Ints) -> float | None:
    """Matthews' correlation of labels and predictions, for rows of one label; None if all rows have the same.

        MCC = cov(true, predicted) / sqrt(cov(true, true) · cov(predicted, predicted))

    over classes as vectors of 0 and 1 (Gorodkin 2004, doi:10.1016/j.compbiolchem.2004.09.006). 1 is perfect, 0 no
    better than chance, also for a model that always predicts the same class.
    """
    if len(np.unique(labels)) < 2:
        return None
    from sklearn.metrics import matthews_corrcoef  # not in the base install

    return float(matthews_corrcoef(labels, predicted))


def roc_auc(labels: Ints, scores: Floats) -> float | None:
    """How often a row of a class has a higher score for it than a row of another class; ties count half.

    `scores` is (rows, classes), log probabilities. For two classes it is that of the second, by the difference of both
    scores; for more classes, and multi-label, the mean over all classes, each against the rest. None if a class has no
    rows, or all of them.
    """
    if labels.ndim == 1:  # a row of no class says nothing about the order of two classes
        labels, scores = labels[labels >= 0], scores[labels >= 0]
    if labels.ndim == 1 and scores.shape[1] == 2:
        scores = scores[:, 1:] - scores[:, :1]
        is_class = labels[:, np.newaxis] == 1
    else:
        is_class = labels == 1 if labels.ndim == 2 else labels[:, np.newaxis] == np.arange(scores.shape[1])
    if not (is_class.any(axis=0) & ~is_class.all(axis=0)).all():
        return None
    from sklearn.metrics import roc_auc_score  # not in the base install

    return float(np.mean([roc_auc_score(is_class[:, number], scores[:, number]) for number in range(scores.shape[1])]))


def spread(values: Sequence[float]) -> float:
    """Sample standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def accuracy_interval(correct: Bools, *, samples: int) -> tuple[float, float]:
    """95 % bootstrap interval over rows of the accuracy averaged over seeds; `correct` is (seeds, rows).

    Rows with the same average are interchangeable, so drawing how many rows of each average there are is the same as
    drawing rows one by one, and fast even for large splits. If all rows are right, or none, every resample is the same:
    then it is Wilson's interval, rows / (rows + z²) to 1 or 0 to z² / (rows + z²).
    """
    if correct.all() or not correct.any():
        width = Z_95**2 / (correct.shape[1] + Z_95**2)
        return (1 - width, 1.0) if correct.all() else (0.0, width)
    kinds, counts = np.unique(correct.mean(axis=0), return_counts=True)
    rows = correct.shape[1]
    draws = np.random.default_rng(BOOTSTRAP_SEED).multinomial(rows, counts / rows, size=samples)
    return _middle_95(draws @ kinds / rows)


def gain_interval(student: Bools, baseline: Bools, *, samples: int) -> tuple[float, float]:
    """95 % bootstrap interval of how much more accurate the student is than the baseline.

    Paired: every resample takes the same rows for both. Seeds are resampled too, so that a lucky seed widens
    the interval. Both arrays are (seeds, rows) of the same rows. Rows on which all seeds are right alike are
    interchangeable, so drawing how many there are of each sort is the same as drawing rows one by one.
    """
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    rows = student.shape[1]
    sorts, counts = np.unique(np.vstack([student, baseline]), axis=1, return_counts=True)  # (all seeds, sorts)
    draws = generator.multinomial(rows, counts / rows, size=samples)  # (samples, sorts)
    accuracies = draws @ sorts.T / rows  # (samples, all seeds)
    means = [_means_of_drawn_seeds(part, generator) for part in np.split(accuracies, [len(student)], axis=1)]
    return _middle_95(means[0] - means[1])


def _means_of_drawn_seeds(accuracies: Floats, generator: np.random.Generator) -> Floats:
    """(samples): in every sample the mean of as many seeds as there are, drawn with replacement."""
    samples, seeds = accuracies.shape
    drawn = generator.integers(0, seeds, (samples, seeds))
    return np.asarray(np.take_along_axis(accuracies, drawn, axis=1).mean(axis=1))


def per_class(labels: Ints, predicted: Sequence[Ints], *, names: Sequence[str]) -> list[dict[str, Any]]:
    """Precision, recall and F1 of every class, averaged over seeds, and its number of rows."""
    tables = [_scores(_counts(labels, of_seed, classes=len(names))) for of_seed in predicted]
    precision, recall, f1 = np.mean(tables, axis=0)  # each (classes,)
    support = labels.sum(axis=0) if labels.ndim == 2 else np.bincount(labels[labels >= 0], minlength=len(names))
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


def averages(labels: Ints, predicted: Sequence[Ints], *, weighted: bool) -> dict[str, float]:
    """Precision, recall and F1 over the classes, averaged over seeds: the last lines of a classification report.

    Classes have equal weights or, if `weighted`, are weighted by their rows. The same classes count as in `macro_f1`.
    """
    of_seeds = [_average_scores(labels, of_seed, weighted=weighted) for of_seed in predicted]
    precision, recall, f1 = np.mean(of_seeds, axis=0)
    return {"precision": float(precision), "recall": float(recall), "f1": float(f1)}


def _average_scores(labels: Ints, predicted: Ints, *, weighted: bool) -> tuple[float, float, float]:
    counts = _counts(labels, predicted)
    if labels.ndim == 1:  # only classes that a row has, or that were predicted
        counts = counts[:, counts[1] + counts[2] > 0]
    weights = counts[2] if weighted else np.ones(counts.shape[1])
    shares = weights / max(float(weights.sum()), 1.0)
    precision, recall, f1 = (float(scores @ shares) for scores in _scores(counts))
    return precision, recall, f1


def _counts(labels: Ints, predicted: Ints, *, classes: int = 0) -> Ints:
    """(3, classes): how often each class was predicted rightly, was predicted, and is the label."""
    if labels.ndim == 2:
        return np.stack([(labels & predicted).sum(axis=0), predicted.sum(axis=0), labels.sum(axis=0)])
    classes = max(classes, int(max(labels.max(initial=-1), predicted.max(initial=-1))) + 1)
    columns = (labels[labels == predicted], predicted, labels[labels >= 0])
    return np.stack([np.bincount(column, minlength=classes) for column in columns])


def _scores(counts: Ints) -> Scores:
    correct, positive, actual = counts
    return _ratio(correct, positive), _ratio(correct, actual), _ratio(2 * correct, positive + actual)


def _ratio(parts: Ints, totals: Ints) -> Floats:
    return np.divide(parts, totals, out=np.zeros(parts.shape), where=totals > 0)


def _middle_95(values: Floats) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
