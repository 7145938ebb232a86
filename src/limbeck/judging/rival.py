"""The rival: what ten lines of scikit-learn reach on the same rows, without a teacher (TF-IDF, linear classifier).

A student that does not beat it is not worth its training. It is an artifact of the run: its weights, which are timed
like any other model, and its answers on dev and on the judged rows, so that a new report need not train it again.
"""

import json
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.rows import Rows
from limbeck.progress import Reporter
from limbeck.runtime.row import Row, columns_of
from limbeck.training.temperature import fitted_temperature

NAME = "tfidf"
ENGINE = "scikit-learn"
FACTS, VOCABULARY, WEIGHTS, BIAS, RARITY = "rival.json", "vocabulary.json", "weights.npy", "bias.npy", "idf.npy"
# How each vectorizer cuts a text. Every character that is no space is part of a token: no text is without features.
CUTS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": r"(?u)\w+|[^\w\s]"},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
MOST_ROWS = 50_000
MOST_CHARACTERS = 5_000_000  # about ten seconds for their n-grams
MOST_ANSWERS = 1_000_000  # rows × classes
ABSENT = -10.0  # the margin of a class that no training row has; margins are seldom beyond ±3
ROWS_PER_CALL = 4096

Floats = npt.NDArray[np.float64]
Logits = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RivalFolder:
    """`rival.json`, vocabulary and weights, and the logits on `dev` and on the judged rows, as `.npy`."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="rival").fingerprint

    @cached_property
    def facts(self) -> dict[str, Any]:
        """train_rows, of_train_rows, parameters, size_mb, temperature."""
        facts: dict[str, Any] = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
        return facts

    def logits(self, split: str) -> Logits:
        """(rows, classes): margins on the labelled rows of dev, or of the judged split."""
        logits: Logits = np.load(self.folder / f"{split}.npy")
        return logits


def make_rival(corpus: Corpus, *, out: Path, key: Key, reporter: Reporter) -> RivalFolder:
    """Train it on the labels of train, calibrate it on dev, and keep its answers."""
    train, dev = (_labelled(corpus, split) for split in ("train", "dev"))
    used = sampled(train, classes=len(corpus.labels))
    rival, size = fitted(used, classes=len(corpus.labels), class_weights=corpus.class_weights)
    with written_atomically(out, kind="rival", key=key) as scratch:
        rival.save(scratch)
        answers = {split: rival.logits(_labelled(corpus, split)) for split in {"dev", corpus.judged_split}}
        for split, logits in answers.items():
            np.save(scratch / f"{split}.npy", logits)
        facts = {
            "labels": corpus.labels,
            "multi_label": corpus.is_multi_label,
            "train_rows": len(used),
            "of_train_rows": len(train),
            "parameters": rival.weights.size + rival.bias.size,
            "size_mb": size / 1e6,
            "temperature": fitted_temperature(answers["dev"], dev.labels),
        }
        (scratch / FACTS).write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
    rows = f"{len(used):,} rows" if len(used) == len(train) else f"{len(used):,} of {len(train):,} rows"
    reporter.note(f"  {NAME}: TF-IDF and a linear classifier, trained on the labels of {rows}; {size / 1e6:.1f} MB")
    return RivalFolder(out)


def _labelled(corpus: Corpus, split: str) -> Rows:
    rows = corpus.splits[split]
    return rows.select(np.flatnonzero(rows.is_labelled))


def sampled(rows: Rows, *, classes: int) -> Rows:
    """All rows, or of many rows a sample with every class in proportion, small enough for seconds of training."""
    characters = max(1.0, float(rows.characters.mean())) if len(rows) else 1.0
    most = int(min(MOST_ROWS, MOST_CHARACTERS / characters, MOST_ANSWERS / classes))
    if len(rows) <= max(most, classes):
        return rows
    drawn = np.random.default_rng(0).permutation(len(rows))
    if rows.labels.ndim == 1:
        drawn = drawn[np.argsort(rows.labels[drawn], kind="stable")]
    places = np.linspace(0, len(rows) - 1, num=max(most, classes), dtype=np.int64)
    return rows.select(np.sort(drawn[places]))


@dataclass(frozen=True)
class Rival:
    """Two fitted vectorizers and the weights of a linear classifier on their features."""

    vectorizers: tuple[Any, ...]
    weights: Floats  # (features, classes); of two classes that exclude each other only the second
    bias: Floats  # (classes), or (1)
    is_single: bool  # whether there is one margin for two classes

    def logits(self, rows: Rows) -> Logits:
        """(rows, classes): the margins."""
        pieces = [
            self.margins(part.texts, part.pairs)
            for start in range(0, len(rows), ROWS_PER_CALL)
            if (part := rows.select(np.arange(start, min(start + ROWS_PER_CALL, len(rows)))))
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


def load_rival(folder: Path, *, is_single: bool) -> Rival:
    """The rival that was saved in this folder."""
    terms = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
    rarity, vectorizers = np.load(folder / RARITY), []
    for name in CUTS:
        one = _vectorizer(name, vocabulary={term: place for place, term in enumerate(terms[name])})
        one.idf_, rarity = rarity[: len(terms[name])], rarity[len(terms[name]) :]
        vectorizers.append(one)
    weights = np.load(folder / WEIGHTS).astype(np.float64)  # as the features: else every call would convert them
    return Rival(tuple(vectorizers), weights, np.load(folder / BIAS), is_single)


def open_rival(folder: Path) -> Callable[[Sequence[Row]], list[object]]:
    """A function from rows to labels, as other models have one; for the process that times it."""
    facts = RivalFolder(folder).facts
    labels, multi_label = facts["labels"], facts["multi_label"]
    rival = load_rival(folder, is_single=_is_single(len(labels), multi_label=multi_label))

    def predict(rows: Sequence[Row]) -> list[object]:
        columns = columns_of(rows)
        margins = rival.margins(columns[0], columns[1] if len(columns) > 1 else None)
        if multi_label:
            return [[labels[number] for number in np.flatnonzero(row >= 0)] for row in margins]
        return [labels[number] for number in margins.argmax(axis=1).tolist()]

    return predict


def _is_single(classes: int, *, multi_label: bool) -> bool:
    return classes == 2 and not multi_label


def fitted(rows: Rows, *, classes: int, class_weights: Sequence[float] | None) -> tuple[Rival, int]:
    """The rival, trained on these rows, and the bytes of the same as a pickle, which is how people keep it."""
    from scipy.sparse import hstack

    vectorizers = tuple(_vectorizer(name) for name in CUTS)
    for one in vectorizers:
        one.fit([*rows.texts, *(rows.pairs or [])])
    features = hstack(_blocks(vectorizers, rows.texts, rows.pairs), format="csr")
    is_single = _is_single(classes, multi_label=rows.labels.ndim == 2)
    outputs = 1 if is_single else classes
    weights, bias = np.zeros((features.shape[1], outputs)), np.full(outputs, ABSENT)
    size = len(pickle.dumps(vectorizers))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Liblinear failed to converge")
        for columns, model in _classifiers(features, rows.labels, classes=classes, class_weights=class_weights):
            size += len(pickle.dumps(model))
            weights[:, columns], bias[columns] = model.coef_.T, model.intercept_
    if rows.labels.ndim == 2:
        bias[rows.labels.all(axis=0)] = -ABSENT
    elif len(np.unique(rows.labels)) == 1:
        bias[:] = np.where(np.arange(outputs) == (rows.labels[0] - is_single), -ABSENT, ABSENT)
    return Rival(vectorizers, weights, bias, is_single), size


def _classifiers(features: Any, labels: npt.NDArray[np.int64], *, classes: int, class_weights: Any) -> Any:
    """Each with the columns that it gives margins for: one for all classes, or with several labels one for each."""
    from sklearn.svm import LinearSVC

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
