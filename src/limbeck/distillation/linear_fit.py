"""A linear classifier of weighted n-grams, fitted to labels: what a student of n-grams starts from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from limbeck.models.word_student import low_rank
from limbeck.training.skill import Labels, judged

INVERSE_PENALTY = 2.0  # C of the support vector machine; the rows have the length 1
MOST_ITERATIONS = 2_000
PENALTIES = (3.0, 1.0, 0.3, 0.1)  # of a ridge regression to scores in standard units; the rows have the length 1
SCALES = (-3.0, 5.0)  # natural logarithms of the least and the largest scale

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class FittedClassifier:
    """Logits = features · weight + bias."""

    weight: Floats  # (tokens, classes)
    bias: Floats  # (classes)

    def logits(self, features: csr_matrix) -> Floats:
        """(rows, classes)"""
        return np.asarray(features @ self.weight + self.bias, dtype=np.float32)

    def of_width(self, width: int) -> dict[str, Floats]:
        """As "vectors" (tokens, width) and a "classifier" (classes, width + 1) that reads them, the bias last.

        With fewer numbers than classes, it is the best approximation of the weights; vectors have no more numbers than
        classes.
        """
        classes = len(self.bias)
        vectors, axes = torch.from_numpy(self.weight), torch.eye(classes)
        if width < classes:
            vectors, axes = low_rank(vectors, rank=width)
        return {"vectors": vectors.numpy(), "classifier": np.concatenate([axes.numpy(), self.bias[:, None]], axis=1)}


def weighted_rows(ids: Sequence[Sequence[int]], weights: Floats) -> csr_matrix:
    """(rows, tokens): exp(w) of each row's tokens, every row of the length 1."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.fromiter((number for row in ids for number in row), dtype=np.int64, count=int(ends[-1]))
    values = np.exp(weights[places].astype(np.float64))
    squares = np.add.reduceat(values**2, ends[:-1]) if len(ids) else np.zeros(0)
    return csr_matrix((values / np.repeat(np.sqrt(squares), lengths), places, ends), shape=(len(ids), len(weights)))


def fit_classifier(
    features: csr_matrix, labels: Labels, *, classes: int, class_weights: Sequence[float] | None = None
) -> FittedClassifier:
    """One linear support vector machine for each class, against all others; of two classes one for both.

    A class that no row has, or that every row has, gets no weights and an unfavourable, or a favourable bias.
    """
    weight, bias = np.zeros((features.shape[1], classes), np.float32), np.zeros(classes, np.float32)
    belongs = labels == 1 if labels.ndim == 2 else labels[:, None] == np.arange(classes)  # (rows, classes)
    of_class = np.ones(classes) if class_weights is None else np.asarray(class_weights)
    of_row = np.ones(len(labels)) if labels.ndim == 2 else of_class[labels]
    is_mirrored = labels.ndim == 1 and classes == 2
    for number in range(1 if is_mirrored else 0, classes):
        own = belongs[:, number]
        if own.all() or not own.any():
            bias[number] = 1.0 if own.all() else -1.0
            continue
        machine = LinearSVC(C=INVERSE_PENALTY, random_state=0, max_iter=MOST_ITERATIONS)
        importance = np.where(own, of_class[number], 1.0) if labels.ndim == 2 else of_row
        machine.fit(features, own, sample_weight=importance)
        weight[:, number], bias[number] = machine.coef_[0], machine.intercept_[0]
    if is_mirrored:
        weight[:, 0], bias[0] = -weight[:, 1], -bias[1]
    return FittedClassifier(weight, bias)


def best_ridge(features: csr_matrix, labels: Labels, *, held_out: csr_matrix, scores: Labels) -> FittedClassifier:
    """A ridge regression to scores (rows), with the penalty that has the lowest squared error on the held-out rows; the
    strongest without any."""
    fits = []
    for penalty in PENALTIES if len(scores) else PENALTIES[:1]:
        ridge = Ridge(alpha=penalty, solver="sparse_cg", random_state=0).fit(features, labels)
        bias = np.array([ridge.intercept_], dtype=np.float32)
        fits.append(FittedClassifier(ridge.coef_.astype(np.float32)[:, None], bias))
    if len(fits) == 1:
        return fits[0]
    return min(fits, key=lambda fit: float(np.mean((fit.logits(held_out)[:, 0] - scores) ** 2)))


def scaled_on(features: csr_matrix, labels: Labels, fit: FittedClassifier) -> FittedClassifier:
    """The fit times the number with which its probabilities suit these rows best: margins are no logits yet."""
    if not len(labels):
        return fit
    logits = fit.logits(features)

    def loss(logarithm: float) -> float:
        return judged(logits * np.float32(np.exp(logarithm)), labels)["dev_loss"]

    scale = np.float32(np.exp(minimize_scalar(loss, bounds=SCALES, method="bounded").x))
    return replace(fit, weight=fit.weight * scale, bias=fit.bias * scale)
