"""TF-IDF of words and characters with a linear classifier: ten lines of scikit-learn, saved as numbers and texts."""

import json
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

VOCABULARY, WEIGHTS, BIAS, RARITY = "vocabulary.json", "weights.npy", "bias.npy", "idf.npy"
FILES = (VOCABULARY, WEIGHTS, BIAS, RARITY)
# Kana and Chinese characters, which are written without spaces: each counts as a word, and two in a row as a pair.
UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# How each vectorizer cuts a text. Every character that is no space is part of a token: no text is without features.
CUTS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": rf"(?u)[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]"},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
ABSENT = -10.0  # the margin of a class that no training row has; margins are seldom beyond ±3
ROWS_PER_CALL = 4096
MOST_ROWS = 50_000
MOST_CHARACTERS = 5_000_000  # about ten seconds for their n-grams
MOST_ANSWERS = 1_000_000  # rows × classes

Floats = npt.NDArray[np.float64]
Logits = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TfidfClassifier:
    """Two fitted vectorizers and the weights of a linear classifier on their features."""

    vectorizers: tuple[Any, ...]
    weights: Floats  # (features, classes); of two classes that exclude each other only the second
    bias: Floats  # (classes), or (1)
    is_single: bool  # whether there is one margin for two classes

    def logits(self, texts: Sequence[str], pairs: Sequence[str] | None) -> Logits:
        """(rows, classes): the margins, some thousand rows at a time."""
        pieces = [
            self.margins(
                texts[start : start + ROWS_PER_CALL], None if pairs is None else pairs[start : start + ROWS_PER_CALL]
            )
            for start in range(0, len(texts), ROWS_PER_CALL)
        ]
        classes = 2 if self.is_single else len(self.bias)
        return np.concatenate([np.zeros((0, classes)), *pieces]).astype(np.float32)

    def margins(self, texts: Sequence[str], pairs: Sequence[str] | None) -> Floats:
        """The same for texts, and second texts."""
        found, start = np.tile(self.bias, (len(texts), 1)), 0
        for block in _blocks(self.vectorizers, texts, pairs):
            found += block @ self.weights[start : start + block.shape[1]]
            start += block.shape[1]
        return np.concatenate([-found, found], axis=1) / 2 if self.is_single else found

    def save(self, folder: Path) -> None:
        """Write it as plain numbers and texts: a pickle in a run folder could run any program."""
        terms = {name: _terms(one) for name, one in zip(CUTS, self.vectorizers, strict=True)}
        (folder / VOCABULARY).write_text(json.dumps(terms, ensure_ascii=True), encoding="utf-8")
        np.save(folder / RARITY, np.concatenate([one.idf_ for one in self.vectorizers]))
        np.save(folder / WEIGHTS, self.weights.astype(np.float32))  # with many classes, most of its bytes
        np.save(folder / BIAS, self.bias)


def _terms(vectorizer: Any) -> list[str]:
    return sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)


def sampled_rows(labels: npt.NDArray[Any], characters: npt.NDArray[np.int64], *, classes: int) -> Places:
    """The numbers of all rows, or of many rows a sample with every class in proportion, for seconds of training."""
    mean = max(1.0, float(characters.mean())) if len(labels) else 1.0
    most = int(min(MOST_ROWS, MOST_CHARACTERS / mean, MOST_ANSWERS / classes))
    if len(labels) <= max(most, classes):
        return np.arange(len(labels))
    drawn = np.random.default_rng(0).permutation(len(labels))  # for scores, in their order: a sample of all of them
    if labels.ndim == 1:
        drawn = drawn[np.argsort(labels[drawn], kind="stable")]
    places = np.linspace(0, len(labels) - 1, num=max(most, classes), dtype=np.int64)
    return np.sort(drawn[places])


def load_classifier(folder: Path, *, classes: int) -> TfidfClassifier:
    """The classifier that was saved in this folder; a score counts as one class."""
    terms = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
    rarity, vectorizers = np.load(folder / RARITY), []
    for name in CUTS:
        one = _vectorizer(name, vocabulary={term: place for place, term in enumerate(terms[name])})
        one.idf_, rarity = rarity[: len(terms[name])], rarity[len(terms[name]) :]
        vectorizers.append(one)
    weights = np.load(folder / WEIGHTS).astype(np.float64)  # as the features: else every call would convert them
    bias = np.load(folder / BIAS)
    return TfidfClassifier(tuple(vectorizers), weights, bias, is_single=len(bias) < classes)


def fitted_classifier(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    labels: npt.NDArray[Any],
    *,
    classes: int,
    class_weights: Sequence[float] | None,
) -> tuple[TfidfClassifier, int]:
    """The classifier, trained on these rows, and the bytes of the same as a pickle, which is how people keep it.

    `labels` are numbers of classes, or (rows, classes) of 0 and 1; of scores it is a ridge regression.
    """
    from scipy.sparse import hstack

    vectorizers = tuple(_vectorizer(name) for name in CUTS)
    for one in vectorizers:
        one.fit([*texts, *(pairs or [])])
    features = hstack(_blocks(vectorizers, texts, pairs), format="csr")
    is_single = classes == 2 and labels.ndim == 1
    outputs = 1 if is_single else classes
    weights, bias = np.zeros((features.shape[1], outputs)), np.full(outputs, ABSENT)
    size = len(pickle.dumps(vectorizers))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Liblinear failed to converge")
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        for columns, model in _classifiers(features, labels, classes=classes, class_weights=class_weights):
            size += len(pickle.dumps(model))
            weights[:, columns], bias[columns] = model.coef_.T, model.intercept_
    if labels.ndim == 2:
        bias[labels.all(axis=0)] = -ABSENT
    elif labels.dtype.kind != "f" and len(np.unique(labels)) == 1:
        bias[:] = np.where(np.arange(outputs) == (labels[0] - is_single), -ABSENT, ABSENT)
    return TfidfClassifier(vectorizers, weights, bias, is_single), size


def _classifiers(features: Any, labels: npt.NDArray[Any], *, classes: int, class_weights: Any) -> Any:
    """Each with the columns that it gives margins for: one for all classes, or with several labels one for each."""
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    if labels.dtype.kind == "f":
        model = Ridge(solver="sparse_cg", random_state=0).fit(features, labels)
        model.coef_ = model.coef_[np.newaxis]  # (1, features), as a classifier has it
        yield np.zeros(1, dtype=np.int64), model
        return
    if labels.ndim == 1:
        present = np.unique(labels)
        if len(present) < 2:
            return
        weight = None if class_weights is None else {int(number): class_weights[number] for number in present}
        model = LinearSVC(class_weight=weight, random_state=0).fit(features, labels)
        if len(present) > 2 or classes == 2:
            yield (present if classes > 2 else np.zeros(1, dtype=np.int64)), model
            return
        model.coef_, model.intercept_ = (np.concatenate([-one, one]) for one in (model.coef_, model.intercept_))
        yield present, model
        return
    for number in np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0)):
        weight = None if class_weights is None else {0: 1.0, 1: class_weights[number]}
        model = LinearSVC(class_weight=weight, random_state=0).fit(features, labels[:, number])
        yield np.array([number]), model


def _vectorizer(name: str, **more: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **CUTS[name], **more)


def _blocks(vectorizers: Sequence[Any], texts: Sequence[str], pairs: Sequence[str] | None) -> list[Any]:
    """The features; of a pair those of both texts, what they share, and how they differ."""
    first = [one.transform(texts) for one in vectorizers]
    if pairs is None:
        return first
    second = [one.transform(pairs) for one in vectorizers]
    both = list(zip(first, second, strict=True))
    return [*first, *second, *(a.multiply(b).tocsr() for a, b in both), *(abs(a - b) for a, b in both)]
