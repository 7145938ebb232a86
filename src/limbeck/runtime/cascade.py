"""A cascade at work: the student answers what it is sure of, a fallback the rest, and every answer says whose it is."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.abstaining import Scored, joined_scores, scored
from limbeck.runtime.batches import chunks_of
from limbeck.runtime.circuit_breaker import CircuitBreaker
from limbeck.runtime.classifier import Classifier, described
from limbeck.runtime.data_frames import Table, frame_of
from limbeck.runtime.engine import Logits
from limbeck.runtime.explain import Explanation
from limbeck.runtime.fallbacks.fallback import Fallback, FallbackFailed
from limbeck.runtime.probabilities import Floats, best_labels, confidence, label_sets, probabilities_of
from limbeck.runtime.row import Row
from limbeck.runtime.thresholds import never_asked

Bools = npt.NDArray[np.bool_]

STUDENT, FALLBACK = "student", "fallback"  # who gave an answer
RESTING = "the fallback has failed and is not asked for the moment: the student answered"
BUSY = "the fallback has more to do than it can: the student answered"
SILENT = "the fallback did not answer: the student answered"


@dataclass(frozen=True)
class CascadeAnswers:
    """Probabilities, whose they are, and what went wrong with the fallback."""

    probabilities: Floats  # (rows, classes)
    by_fallback: Bools  # (rows)
    note: str | None = None  # why the student answered rows that it was not sure of: one sentence, without addresses
    failure: FallbackFailed | None = None  # the same in full, for whoever runs it
    scored: Scored | None = None  # where nobody gives a label: the student would not, and the fallback was not asked

    @property
    def answered_by(self) -> list[str]:
        """ "student" or "fallback", for each row."""
        return [FALLBACK if is_its else STUDENT for is_its in self.by_fallback.tolist()]


@dataclass
class CascadeCount:
    """How many rows a cascade has answered so far, and what went wrong first."""

    rows: int = 0
    by_fallback: int = 0
    note: str | None = None
    failure: FallbackFailed | None = None

    def add(self, answers: CascadeAnswers) -> None:
        """Count these too."""
        self.rows += len(answers.by_fallback)
        self.by_fallback += int(answers.by_fallback.sum())
        self.note, self.failure = self.note or answers.note, self.failure or answers.failure


class Cascade:
    """The parts of a cascade, for whoever asks student and fallback by themselves, as the server does."""

    def __init__(
        self, student: Classifier, fallback: Fallback, *, threshold: float, breaker: CircuitBreaker | None = None
    ) -> None:
        self.student, self.fallback, self.threshold = student, fallback, threshold
        self.breaker = breaker or CircuitBreaker(slow_seconds=fallback.slow_seconds)

    def __reduce__(self) -> tuple[Any, ...]:
        """With a breaker of its own in each process: what fails for one may answer another."""
        return _rebuilt, (self.student, self.fallback, self.threshold)

    @cached_property
    def note(self) -> str | None:
        """What whoever starts it should know: that the fallback is never asked, and why, in one sentence; or None."""
        return never_asked(self.threshold, ModelFolder(self.student.folder).profile()) if self.threshold <= 0 else None

    def unsure(self, probabilities: Floats) -> Bools:
        """(rows): whether the fallback is to be asked: the student's confidence is not above the threshold."""
        if not len(probabilities) or self.threshold <= 0:
            return np.zeros(len(probabilities), dtype=np.bool_)
        return np.asarray(confidence(probabilities, multi_label=self.student.facts.multi_label) <= self.threshold)

    def asked(self, rows: list[Row]) -> tuple[Floats | None, FallbackFailed | None]:
        """The fallback's probabilities for these rows, or what went wrong; the breaker learns how it went.

        Neither of the two if the breaker does not let it be asked. Any fault of the fallback is a failure.
        """
        token = self.breaker.allows()
        if not token:
            return None, None
        started = time.monotonic()
        try:
            found = self.fallback.predict_proba(rows)
        except BaseException as error:
            self.breaker.failed(token)
            if not isinstance(error, Exception):
                raise
            return None, _as_failure(error, name=self.fallback.name)
        self.breaker.succeeded(time.monotonic() - started, token)
        return found, None

    def close(self) -> None:
        """Ask the fallback nothing more: whoever waits for it gets a failure soon."""
        self.fallback.close()

    def merged(
        self,
        probabilities: Floats,
        unsure: Bools,
        found: Floats | None = None,
        failure: FallbackFailed | None = None,
        note: str | None = None,
    ) -> CascadeAnswers:
        """The student's probabilities, with those that the fallback found for the unsure rows, in their order.

        Without them, and in a row of NaN, the student's stay, and the note says so; `note`: why it was not asked.
        """
        together, by_fallback = probabilities, np.zeros(len(probabilities), dtype=np.bool_)
        if not unsure.any():
            return CascadeAnswers(together, by_fallback)
        if found is None:
            return CascadeAnswers(together, by_fallback, note or (SILENT if failure else RESTING), failure)
        is_answered = np.isfinite(found).all(axis=1)
        places = np.flatnonzero(unsure)[is_answered]
        together = probabilities.copy()
        together[places], by_fallback[places] = found[is_answered], True
        missing = int((~is_answered).sum())
        gaps = f"the fallback gave no label for {missing:,} of {len(found):,} rows: the student answered these"
        return CascadeAnswers(together, by_fallback, gaps if missing else None)

    def answers(self, rows: list[Row]) -> CascadeAnswers:
        """Ask the student, and about what it is not sure of the fallback: one question after the other.

        Each has a time-out of its own, as there may be thousands; nobody waits for one answer to all of them here.
        """
        if self.student.facts.abstain is not None:
            logits, facts = self.student.logits(rows), self.student.facts
            probabilities = probabilities_of(logits / facts.temperature, multi_label=facts.multi_label)
            answers, found = self._answers(rows, probabilities), scored(logits, facts)
            return replace(answers, scored=found.but_for(answers.by_fallback) if found else None)
        return self._answers(rows, self.student.predict_proba(rows))

    def _answers(self, rows: list[Row], probabilities: Floats) -> CascadeAnswers:
        unsure = self.unsure(probabilities)
        places = np.flatnonzero(unsure).tolist()
        size = self.fallback.rows_at_once or max(len(rows), 1)
        edges = [0, *places[size::size], len(rows)]
        parts = [slice(*edge) for edge in pairwise(edges)]
        return _joined([self._answered(rows[part], probabilities[part], unsure[part]) for part in parts])

    def _answered(self, rows: list[Row], probabilities: Floats, unsure: Bools) -> CascadeAnswers:
        if not unsure.any():
            return self.merged(probabilities, unsure)
        found, failure = self.asked([rows[place] for place in np.flatnonzero(unsure).tolist()])
        return self.merged(probabilities, unsure, found, failure)


def _rebuilt(student: Classifier, fallback: Fallback, threshold: float) -> Cascade:
    return Cascade(student, fallback, threshold=threshold)


def _joined(parts: list[CascadeAnswers]) -> CascadeAnswers:
    """One after the other, with what went wrong first."""
    if len(parts) == 1:
        return parts[0]
    return CascadeAnswers(
        np.concatenate([one.probabilities for one in parts]),
        np.concatenate([one.by_fallback for one in parts]),
        next((one.note for one in parts if one.note), None),
        next((one.failure for one in parts if one.failure), None),
        joined_scores([one.scored for one in parts]),
    )


def _as_failure(error: Exception, *, name: str) -> FallbackFailed:
    """A fault in the code of a fallback has a failure's name; its message, which may have texts in it, is its cause."""
    if isinstance(error, FallbackFailed):
        return error
    failure = FallbackFailed(name=name, reason=type(error).__name__)
    failure.__cause__ = error
    return failure


class CascadeClassifier:
    """A student with a fallback, with everything that a Classifier has; many threads may share one.

    Rows are texts, or pairs of texts if `facts.pair` is set, in any iterable; results are in the order of the rows.
    `predict` and `predict_proba` are of both together; `logits` and `explain` are the student's, as a fallback gives
    probabilities alone.
    """

    def __init__(self, cascade: Cascade) -> None:
        self.cascade = cascade

    def __repr__(self) -> str:
        student, fallback = described(self.facts), self.cascade.fallback.name
        return f"<limbeck.CascadeClassifier {student}; up to confidence {self.threshold:.4g} '{fallback}' answers>"

    def portable(self) -> "CascadeClassifier":
        """The same, whose pickle holds the files of its models; a server keeps its address."""
        cascade = self.cascade
        take = getattr(cascade.fallback, "portable", None)
        fallback = take() if take else cascade.fallback
        return CascadeClassifier(Cascade(cascade.student.portable(), fallback, threshold=cascade.threshold))

    @property
    def facts(self) -> ModelFacts:
        """Those of the student."""
        return self.cascade.student.facts

    @property
    def labels(self) -> list[str]:
        """Class names, in the order of the columns of `predict_proba`."""
        return self.cascade.student.labels

    @property
    def classes_(self) -> npt.NDArray[np.str_]:
        """The same as an array, under the name that scikit-learn has for them."""
        return self.cascade.student.classes_

    @property
    def folder(self) -> Path:
        """Where the student was loaded from."""
        return self.cascade.student.folder

    @property
    def engine(self) -> str:
        """What runs the student's network."""
        return self.cascade.student.engine

    @property
    def threshold(self) -> float:
        """The fallback is asked where the student's confidence is at most this."""
        return self.cascade.threshold

    @property
    def note(self) -> str | None:
        """Why the fallback is never asked, in one sentence; None if it may be."""
        return self.cascade.note

    def answers(self, rows: Iterable[Row] | Table) -> CascadeAnswers:
        """The probabilities of each row, who gave them, and a note if the fallback was asked and did not answer."""
        frame = frame_of(rows)
        texts: Any = frame.rows(pair=self.facts.pair, folder=self.folder) if frame else rows
        found = [self.cascade.answers(chunk) for chunk in chunks_of(texts, pair=self.facts.pair)]
        if not found:
            none = np.zeros((0, len(self.labels)), dtype=np.float32)
            return CascadeAnswers(none, np.zeros(0, dtype=np.bool_))
        return _joined(found)

    def logits(self, rows: Iterable[Row] | Table) -> Logits:
        """(rows, classes): those of the student; the fallback is not asked."""
        return self.cascade.student.logits(rows)

    def explain(self, rows: Iterable[Row] | Table, *, label: str | None = None) -> list[Explanation]:
        """Why the student gives its answers, also to rows that the fallback would answer: see `Classifier.explain`."""
        return self.cascade.student.explain(rows, label=label)

    @overload
    def predict(self, rows: Iterable[Row]) -> list[str] | list[str | None] | list[list[str]]: ...
    @overload
    def predict(self, rows: Table) -> Any: ...
    def predict(self, rows: Iterable[Row] | Table) -> Any:
        """The most probable label of each row; if `facts.multi_label` is set, a list of all labels with a probability
        of at least 0.5, in the order of the classes, possibly empty. None, or the answer that the recipe names, where
        the student abstains and the fallback did not answer. As a column, as `Classifier.predict` does."""
        answers, frame = self.answers(rows), frame_of(rows)
        found: Any = (label_sets if self.facts.multi_label else best_labels)(answers.probabilities, self.labels)
        if answers.scored is not None and not self.facts.multi_label:
            found = answers.scored.labels(found)
        return frame.labels(found) if frame else found

    def scored(self, rows: Iterable[Row]) -> Scored | None:
        """How sure the student is of each row, and where nobody gives a label; None if the student always gives one."""
        return self.answers(rows).scored

    @overload
    def predict_proba(self, rows: Iterable[Row]) -> Floats: ...
    @overload
    def predict_proba(self, rows: Table) -> Any: ...
    def predict_proba(self, rows: Iterable[Row] | Table) -> Any:
        """(rows, classes): the calibrated probabilities of the student, or those of the fallback."""
        probabilities, frame = self.answers(rows).probabilities, frame_of(rows)
        return frame.probabilities(probabilities, self.labels) if frame else probabilities
