"""What every model answers on the judged rows, and the quality numbers of one line of the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import TooFewRows
from limbeck.evaluation import metrics
from limbeck.progress import Bar
from limbeck.runtime.classifier import load
from limbeck.runtime.probabilities import probabilities_of
from limbeck.runtime.row import Row
from limbeck.training.skill import predicted

ROWS_PER_CALL = 2048  # so that the bar moves
MEASURES = ("accuracy", "accuracy_sd", "accuracy_ci95", "accuracy_per_seed", "macro_f1", "ece", "per_class")
SET_MEASURES = ("micro_f1", "hamming_loss")  # where a row may have several labels


@dataclass(frozen=True)
class Answers:
    """What one model, in one copy per seed, said about judged rows."""

    labels: metrics.Ints  # (rows), the true ones; with several labels a row (rows, classes) of 0 and 1
    logits: npt.NDArray[np.float32]  # (seeds, rows, classes)

    @property
    def is_multi_label(self) -> bool:
        """Whether a row may have several labels."""
        return self.labels.ndim == 2

    @cached_property
    def predicted(self) -> metrics.Ints:
        """(seeds, rows): class numbers; with several labels a row (seeds, rows, classes) of 0 and 1."""
        return predicted(self.logits, multi_label=self.is_multi_label)

    @cached_property
    def correct(self) -> metrics.Bools:
        """(seeds, rows): whether a row is right, in every label."""
        return np.stack([metrics.rows_equal(of_seed, self.labels) for of_seed in self.predicted])

    @cached_property
    def accuracies(self) -> list[float]:
        """One per seed."""
        return [float(share) for share in self.correct.mean(axis=1)]

    def at(self, places: metrics.Ints) -> "Answers":
        """Those about some of the rows."""
        return Answers(labels=self.labels[places], logits=self.logits[:, places])


@dataclass(frozen=True)
class TeacherAnswers:
    """What the teacher said, and about which of the judged rows: one that is a file need not know all of them."""

    places: metrics.Ints  # among the judged rows
    answers: Answers  # about the rows at these places

    @classmethod
    def of(cls, labels: TeacherLabels, rows: Rows) -> "TeacherAnswers":
        """What its labels say about these rows."""
        places = np.flatnonzero(labels.covers(rows.ids)).astype(np.int64)
        covered = rows.select(places)
        said = labels.for_rows(covered.ids)
        return cls(places=places, answers=Answers(labels=covered.labels, logits=said[np.newaxis]))

    def compared(self, answers: Answers) -> dict[str, Any]:
        """The keys of a line about its agreement with the teacher, on the rows that the teacher knows.

        Where those are only some of the judged rows, also the accuracy on them: that is the one to hold against the
        teacher's.
        """
        if len(self.places) == 0:
            return {"teacher_agreement": None}
        known = answers.at(self.places)
        shares = [metrics.share_equal(of_seed, self.answers.predicted[0]) for of_seed in known.predicted]
        agreement = {"teacher_agreement": float(np.mean(shares))}
        if len(self.places) == len(answers.labels):
            return agreement
        return {**agreement, "accuracy_on_teacher_rows": float(np.mean(known.accuracies))}


def judged_rows(corpus: Corpus) -> Rows:
    """The rows of the judged split that carry a label."""
    rows = corpus.splits[corpus.judged_split]
    labelled = np.flatnonzero(rows.is_labelled)
    if len(labelled) == 0:
        raise TooFewRows(what=f"{corpus.judged_split}: rows with a label", rows=0, needed=1)
    return rows.select(labelled)


def runtime_rows(rows: Rows) -> list[Row]:
    """The rows as a classifier takes them: texts, or pairs of texts."""
    return list(rows.texts) if rows.pairs is None else list(zip(rows.texts, rows.pairs, strict=True))


def answers_of(exports: Mapping[int, ModelFolder], *, rows: Rows, bar: Bar) -> Answers:
    """What the exported files say, one per seed, each loaded as it will be where it ships."""
    texts = runtime_rows(rows)
    logits = [_logits(export, texts, bar=bar) for export in exports.values()]
    return Answers(labels=rows.labels, logits=np.stack(logits))


def quality(answers: Answers, *, names: Sequence[str], samples: int) -> dict[str, Any]:
    """The quality keys of one line of the report; all but the number of seeds are None where no row was answered."""
    seeds = {"seed_count": len(answers.logits)}
    if len(answers.labels) == 0:
        return seeds | dict.fromkeys([*MEASURES, *(SET_MEASURES if answers.is_multi_label else ())])
    labels, of_seeds = answers.labels, list(answers.predicted)
    probabilities = probabilities_of(answers.logits, multi_label=answers.is_multi_label).astype(np.float64)
    found = seeds | {
        "accuracy": float(np.mean(answers.accuracies)),
        "accuracy_sd": metrics.spread(answers.accuracies),
        "accuracy_ci95": list(metrics.accuracy_interval(answers.correct, samples=samples)),
        "accuracy_per_seed": answers.accuracies,
        "macro_f1": float(np.mean([metrics.macro_f1(labels, said) for said in of_seeds])),
        "ece": float(np.mean([metrics.expected_calibration_error(labels, said) for said in probabilities])),
        "per_class": metrics.per_class(labels, of_seeds, names=names),
    }
    if answers.is_multi_label:
        found["micro_f1"] = float(np.mean([metrics.micro_f1(labels, said) for said in of_seeds]))
        found["hamming_loss"] = float(np.mean([metrics.hamming_loss(labels, said) for said in of_seeds]))
    return found


def gain(answers: Answers, *, baseline: Answers | None, samples: int) -> dict[str, Any] | None:
    """How much more accurate than the same student trained alone, with its 95 % interval; None without a baseline."""
    if baseline is None:
        return None
    difference = float(np.mean(answers.accuracies) - np.mean(baseline.accuracies))
    interval = metrics.gain_interval(answers.correct, baseline.correct, samples=samples)
    return {"accuracy": difference, "ci95": list(interval)}


def _logits(export: ModelFolder, texts: list[Row], *, bar: Bar) -> npt.NDArray[np.float32]:
    classifier = load(export.folder)
    pieces = []
    for start in range(0, len(texts), ROWS_PER_CALL):
        piece = texts[start : start + ROWS_PER_CALL]
        pieces.append(np.asarray(classifier.logits(piece), dtype=np.float32))
        bar.advance(len(piece))
    return np.concatenate(pieces)
