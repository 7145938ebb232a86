"""How well logits fit labels (one per row, or several) or scores: what epochs are chosen by, and skill above chance."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from limbeck.training.correlation import spearman

# (rows) class numbers, or (rows, classes) of 0 and 1; or floating-point numbers: (rows) scores in standard units
Labels = npt.NDArray[Any]
Logits = npt.NDArray[np.float32]  # (rows, classes)

NEAR_CHANCE = 0.1  # a skill below this counts as guessing


def are_scores(labels: Labels) -> bool:
    """Whether these are scores and not classes."""
    return labels.dtype.kind == "f"


def predicted(logits: Logits, *, multi_label: bool) -> Labels:
    """In the form of the labels: the class with the largest logit, or every class with a probability of at least ½."""
    return np.asarray(logits >= 0 if multi_label else logits.argmax(axis=-1), dtype=np.int64)


def judged(logits: Logits, labels: Labels, *, by_macro_f1: bool = False) -> dict[str, float]:
    """The metrics on dev: those that select the best epoch, and those that are reported.

    `dev_accuracy` is the share of rows that are right in every label. `dev_score`, which selects the epoch, is the same
    with one label per row. With several it is macro F1, because few rows are right in every one of many labels; also
    with uneven classes (`by_macro_f1`), where answering the frequent one every time is accurate. Then it is
    `dev_macro_f1` too. `dev_noise` is the standard error of the difference between two such scores, for models that
    share half of their errors:  sqrt(2 · (1 - ½)) times the standard error of one, which is sqrt(s (1 - s) / n) for an
    accuracy s on n rows.

    Of scores there is no accuracy: `dev_score` is Spearman's correlation, which is `dev_spearman` too, and the loss is
    the mean squared error.
    """
    if are_scores(labels):
        return _judged_scores(logits, labels)
    multi_label = labels.ndim == 2
    answers = predicted(logits, multi_label=multi_label)
    right = (answers == labels).all(axis=1) if multi_label else answers == labels
    accuracy = float(right.mean())
    found = {"dev_accuracy": accuracy, "dev_score": accuracy, "dev_loss": _loss(logits, labels)}
    if multi_label or by_macro_f1:
        score = _macro_f1(labels, answers) if multi_label else _macro_f1_of_one(labels, answers)
        found |= {"dev_score": score, "dev_macro_f1": score}
    macro = "dev_macro_f1" in found
    noise = _noise_of_macro_f1(labels, answers) if macro else math.sqrt(accuracy * (1 - accuracy) / len(labels))
    return {**found, "dev_noise": noise}


def _judged_scores(logits: Logits, labels: Labels) -> dict[str, float]:
    answers = logits[:, 0].astype(np.float64)
    found = spearman(answers, labels)
    noise = (1 - found**2) / math.sqrt(max(1, len(labels) - 1))
    loss = float(np.mean((answers - labels) ** 2)) if len(labels) else math.nan
    return {"dev_score": found, "dev_spearman": found, "dev_loss": loss, "dev_noise": noise}


def skill(logits: Logits, labels: Labels) -> float | None:
    """Cohen's kappa: 0 for guessing with any preference for a class, 1 if all answers are right.

        kappa = (accuracy - expected) / (1 - expected),   expected = Σ_c  share predicted(c) · share true(c)

    Accuracy alone would accept a teacher that always predicts the most frequent class. With several labels per row it
    is the kappa of all yes-or-no answers together, or the mean over the classes that some rows have and others do not,
    whichever is better: the first forgives errors on rare classes, the second on frequent ones. None if all rows have
    the same labels, so that there is nothing to distinguish. Of scores it is Spearman's correlation.
    """
    if are_scores(labels):
        return spearman(logits[:, 0], labels) if len(np.unique(labels)) > 1 else None
    if labels.ndim == 1:
        return _kappa(labels, predicted(logits, multi_label=False)) if len(set(labels.tolist())) > 1 else None
    answers = predicted(logits, multi_label=True)
    varying = [number for number in range(labels.shape[1]) if 0 < labels[:, number].sum() < len(labels)]
    if not varying:
        return None
    kappas = [_kappa(labels[:, number], answers[:, number]) for number in varying]
    return max(float(np.mean(kappas)), _kappa(labels.reshape(-1), answers.reshape(-1)))


MIN_ROWS = 60  # dev rows: with fewer, a kappa of 0 may be bad luck
MIN_OTHERS = 5  # dev rows that are not of the class it always answers, or labels of which it finds none
ONE_CLASS = 0.98  # share of rows with the same answer that counts as all
HOPELESS = 0.2  # the skill may be larger than measured, by two standard errors, but not as large as this


def guessing(logits: Logits, labels: Labels, *, names: Sequence[str]) -> str:
    """Why these answers are hardly better than guessing, in words; empty if they are better, or there are too few rows
    to say so.

    One label a row: a kappa near 0, with the same answer for nearly every row, or too near for it to be chance.
    The standard error of a kappa of 0 is sqrt(e / (n · (1 - e))) for n rows, with e the agreement expected by chance.
    Several labels: not a single label is found. Scores: a correlation that is too near 0 for it to be chance.
    """
    if len(labels) < MIN_ROWS or (found := skill(logits, labels)) is None or found >= NEAR_CHANCE:
        return ""
    if are_scores(labels):
        hopes = found + 2 / math.sqrt(len(labels))
        return f"Spearman's correlation on dev is {found:.2f} (guessing: 0)" if hopes < HOPELESS else ""
    answers = predicted(logits, multi_label=labels.ndim == 2)
    if labels.ndim == 2:
        is_blind = not (answers & labels).any() and labels.sum() >= MIN_OTHERS
        return f"it finds none of the {labels.sum():,} labels of the dev rows" if is_blind else ""
    counts = np.bincount(answers)
    most = int(counts.argmax())
    if counts[most] >= ONE_CLASS * len(labels) and (labels != most).sum() >= MIN_OTHERS:
        return f"it answers '{names[most]}' for {counts[most]:,} of {len(labels):,} dev rows"
    accuracy = float((answers == labels).mean())
    is_hopeless = skill_at_best(found, accuracy=accuracy, rows=len(labels)) < HOPELESS
    return f"Cohen's kappa on dev is {found:.2f} (guessing: 0)" if is_hopeless else ""


def skill_at_best(kappa: float, *, accuracy: float | None, rows: int) -> float:
    """The largest skill that so many rows leave likely: two standard errors above the kappa that was found. Without an
    accuracy it is a correlation, whose standard error is 1 / √rows where there is none."""
    if accuracy is None:
        return kappa + 2 / math.sqrt(max(rows, 1))
    expected = (accuracy - kappa) / (1 - kappa)
    return kappa + 2 * math.sqrt(max(expected, 0.0) / (max(rows, 1) * max(1 - expected, 1e-9)))


def rows_of_others(labels: Labels) -> int | None:
    """The rows that are not of the most frequent class; None where a row may have several labels, or a score."""
    if are_scores(labels):
        return None
    return None if labels.ndim == 2 or not len(labels) else int(len(labels) - np.bincount(labels).max())


def _macro_f1(labels: Labels, answers: Labels) -> float:
    """Computed here, because scikit-learn reads a matrix of one column as two classes. A class that appears neither in
    labels nor in answers counts 0."""
    true_positives = ((labels == 1) & (answers == 1)).sum(axis=0)
    positives = labels.sum(axis=0) + answers.sum(axis=0)
    return float(np.mean(2 * true_positives / np.maximum(positives, 1)))


def _macro_f1_of_one(labels: Labels, answers: Labels) -> float:
    """The mean over the classes that appear in the labels."""
    numbers = np.unique(labels)
    return _macro_f1((labels[:, None] == numbers).astype(np.int64), (answers[:, None] == numbers).astype(np.int64))


RESAMPLES = 200


def _noise_of_macro_f1(labels: Labels, answers: Labels) -> float:
    """Its standard deviation over samples of as many rows, drawn from these with replacement."""
    numbers = np.unique(labels)
    one_column_each = labels.ndim == 2
    true = labels if one_column_each else (labels[:, None] == numbers).astype(np.int64)
    predicted_too = answers if one_column_each else (answers[:, None] == numbers).astype(np.int64)
    both, either = (true & predicted_too).astype(np.float64), (true + predicted_too).astype(np.float64)
    draws = np.random.default_rng(0).multinomial(len(labels), np.full(len(labels), 1 / len(labels)), size=RESAMPLES)
    scores = 2 * (draws @ both) / np.maximum(draws @ either, 1)  # (resamples, classes)
    seen = draws @ true > 0
    return float(np.std((scores * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)))


def _kappa(labels: Labels, answers: Labels) -> float:
    from sklearn.metrics import cohen_kappa_score  # takes a second to import, which only trainings need

    return float(cohen_kappa_score(labels, answers))


def _loss(logits: Logits, labels: Labels) -> float:
    predictions, truth = torch.from_numpy(np.asarray(logits, dtype=np.float32)), torch.from_numpy(labels)
    if labels.ndim == 2:
        return float(F.binary_cross_entropy_with_logits(predictions, truth.float()))
    return float(F.cross_entropy(predictions, truth))
