"""How well logits fit labels, for one label a row or several: accuracy, the score to choose by, skill over guessing."""

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import cohen_kappa_score
from torch.nn import functional as F

Labels = npt.NDArray[np.int64]  # (rows) class numbers, or (rows, classes) of 0 and 1
Logits = npt.NDArray[np.float32]  # (rows, classes)

NEAR_CHANCE = 0.1  # a skill below this is called guessing


def predicted(logits: Logits, *, multi_label: bool) -> Labels:
    """In the form of the labels: the largest logit's class, or every class whose probability is one half or more."""
    return np.asarray(logits >= 0 if multi_label else logits.argmax(axis=-1), dtype=np.int64)


def judged(logits: Logits, labels: Labels) -> dict[str, float]:
    """What training chooses the best epoch by, and what is told of it.

    `dev_accuracy` is the share of rows that are right in every label. `dev_score`, which decides, is the same for one
    label a row; with several it is macro F1, because few rows are right in every one of many labels.
    """
    multi_label = labels.ndim == 2
    answers = predicted(logits, multi_label=multi_label)
    right = (answers == labels).all(axis=1) if multi_label else answers == labels
    accuracy = float(right.mean())
    score = _macro_f1(labels, answers) if multi_label else accuracy
    return {"dev_accuracy": accuracy, "dev_score": score, "dev_loss": _loss(logits, labels)}


def skill(logits: Logits, labels: Labels) -> float | None:
    """Cohen's kappa: 0 for guessing with whatever preference for a class, 1 for all right.

        kappa = (accuracy - expected) / (1 - expected),   expected = Σ_c  share predicted(c) · share true(c)

    Accuracy alone would let a teacher pass that always says the most frequent class. With several labels a row it is
    that of all answers, yes or no, to all classes together, or the mean over the classes that some rows have and some
    have not, whichever is better: the first forgives rare classes, the second frequent ones. None where the rows are
    all alike, so that nothing can be told apart.
    """
    if labels.ndim == 1:
        return _kappa(labels, predicted(logits, multi_label=False)) if len(set(labels.tolist())) > 1 else None
    answers = predicted(logits, multi_label=True)
    told_apart = [number for number in range(labels.shape[1]) if 0 < labels[:, number].sum() < len(labels)]
    if not told_apart:
        return None
    kappas = [_kappa(labels[:, number], answers[:, number]) for number in told_apart]
    return max(float(np.mean(kappas)), _kappa(labels.reshape(-1), answers.reshape(-1)))


def _macro_f1(labels: Labels, answers: Labels) -> float:
    """By hand, because scikit-learn takes a matrix of one column for two classes. Never there and never said: 0."""
    found = ((labels == 1) & (answers == 1)).sum(axis=0)
    said_or_there = labels.sum(axis=0) + answers.sum(axis=0)
    return float(np.mean(2 * found / np.maximum(said_or_there, 1)))


def _kappa(labels: Labels, answers: Labels) -> float:
    return float(cohen_kappa_score(labels, answers))


def _loss(logits: Logits, labels: Labels) -> float:
    said, truth = torch.from_numpy(np.asarray(logits, dtype=np.float32)), torch.from_numpy(labels)
    if labels.ndim == 2:
        return float(F.binary_cross_entropy_with_logits(said, truth.float()))
    return float(F.cross_entropy(said, truth))
