"""First students: classifiers that are trained in seconds on what a language model has answered so far.

One reads words (TF-IDF), the other the vectors of an encoder, where there are any.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.models.tfidf import ABSENT, fitted_classifier, sampled_rows

Logits = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
INVERSE_PENALTY, MOST_STEPS = 10.0, 300  # of logistic regression on vectors of length 1


@dataclass(frozen=True)
class Texts:
    """Texts, and what an encoder makes of them."""

    rows: Rows
    vectors: npt.NDArray[np.float16] | None = None  # (texts, width); of the others of very many texts NaN

    def select(self, places: Places) -> "Texts":
        """Some of them."""
        return Texts(self.rows.select(places), None if self.vectors is None else self.vectors[places])

    def have_vectors(self) -> npt.NDArray[np.bool_]:
        """(texts): whether each has a vector."""
        if self.vectors is None:
            return np.zeros(len(self.rows), dtype=np.bool_)
        return ~np.isnan(self.vectors[:, 0])


@dataclass(frozen=True)
class FirstStudent:
    """A trained one."""

    name: str
    margins: Callable[[Texts], Logits]
    """(texts, classes); NaN where it cannot read a text."""


def first_students(texts: Texts, logits: Logits, *, several: bool) -> list[FirstStudent]:
    """Those that can be trained on these answers; texts without one, which is NaN, are skipped."""
    known = np.flatnonzero(is_known(logits))
    part, labels = texts.select(known), labels_of(logits[known], several=several)
    found: list[FirstStudent] = [_of_words(part.rows, labels, classes=logits.shape[1])]
    if part.have_vectors().any():
        read = np.flatnonzero(part.have_vectors())
        found.append(_of_vectors(part.select(read), labels[read], classes=logits.shape[1]))
    return found


def is_known(logits: Logits) -> npt.NDArray[np.bool_]:
    """(texts): whether there is an answer."""
    return np.asarray(~np.isnan(logits).any(axis=1))


def labels_of(logits: Logits, *, several: bool) -> npt.NDArray[np.int64]:
    """(texts) the class of each; with several labels per text (texts, classes) of 0 and 1."""
    return (logits > 0).astype(np.int64) if several else logits.argmax(axis=1)


def share_right(student: FirstStudent, texts: Texts, truth: Logits, *, several: bool) -> float | None:
    """Among the texts whose answers are known, and which it can read."""
    margins = student.margins(texts)
    known = is_known(truth) & is_known(margins)
    if not known.any():
        return None
    is_right = labels_of(margins[known], several=several) == labels_of(truth[known], several=several)
    return float((is_right.all(axis=1) if several else is_right).mean())


def _of_words(rows: Rows, labels: npt.NDArray[np.int64], *, classes: int) -> FirstStudent:
    used = sampled_rows(labels, rows.characters, classes=classes)
    part = rows.select(used)
    trained, _ = fitted_classifier(part.texts, part.pairs, labels[used], classes=classes, class_weights=None)
    return FirstStudent("words", lambda texts: trained.logits(texts.rows.texts, texts.rows.pairs))


def _of_vectors(texts: Texts, labels: npt.NDArray[np.int64], *, classes: int) -> FirstStudent:
    assert texts.vectors is not None, "asked for texts with vectors"
    read = texts.vectors.astype(np.float32)
    is_one = labels.ndim == 1
    cells = np.eye(classes, dtype=np.int64)[labels] if is_one else labels
    trained = [_line(read, cells[:, number]) for number in range(classes)]

    def margins(texts: Texts) -> Logits:
        found = np.full((len(texts.rows), classes), np.nan, dtype=np.float32)
        places = np.flatnonzero(texts.have_vectors())
        if texts.vectors is not None and len(places):
            vectors = texts.vectors[places].astype(np.float32)
            found[places] = np.stack([line(vectors) for line in trained], axis=1)
        return found

    return FirstStudent("vectors", margins)


def _line(vectors: npt.NDArray[np.float32], cells: npt.NDArray[np.int64]) -> Callable[[Any], Any]:
    """The margins of one class against all others."""
    from sklearn.linear_model import LogisticRegression

    if cells.min() == cells.max():
        return lambda read: np.full(len(read), -ABSENT if cells[0] else ABSENT)
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=MOST_STEPS).fit(vectors, cells)
    return lambda read: model.decision_function(read)
