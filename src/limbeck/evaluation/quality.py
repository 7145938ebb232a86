"""What every model answers on the judged rows, and the quality numbers of one line of the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import NO_LABEL, Rows
from limbeck.errors import TooFewRows
from limbeck.evaluation import metrics
from limbeck.progress import Bar
from limbeck.runtime.classifier import load, softmax
from limbeck.runtime.row import Row

ROWS_PER_CALL = 2048  # so that the bar moves


@dataclass(frozen=True)
class Answers:
    """What one model, in one copy per seed, said about the judged rows."""

    labels: metrics.Ints  # (rows), the true ones
    logits: npt.NDArray[np.float32]  # (seeds, rows, classes)

    @cached_property
    def predicted(self) -> metrics.Ints:
        """(seeds, rows): class numbers."""
        return np.asarray(self.logits.argmax(axis=-1), dtype=np.int64)

    @cached_property
    def correct(self) -> metrics.Bools:
        """(seeds, rows)."""
        return np.asarray(self.predicted == self.labels)

    @cached_property
    def accuracies(self) -> list[float]:
        """One per seed."""
        return [float(share) for share in self.correct.mean(axis=1)]


def judged_rows(corpus: Corpus) -> Rows:
    """The rows of the judged split that carry a label."""
    rows = corpus.splits[corpus.judged_split]
    labelled = np.flatnonzero(rows.labels != NO_LABEL)
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


def quality(answers: Answers, *, teacher: Answers, names: Sequence[str], samples: int) -> dict[str, Any]:
    """The quality keys of one line of the report."""
    seeds = range(len(answers.predicted))
    labels, predicted = answers.labels, answers.predicted
    probabilities = softmax(answers.logits).astype(np.float64)
    return {
        "seed_count": len(seeds),
        "accuracy": float(np.mean(answers.accuracies)),
        "accuracy_sd": metrics.spread(answers.accuracies),
        "accuracy_ci95": list(metrics.accuracy_interval(answers.correct, samples=samples)),
        "accuracy_per_seed": answers.accuracies,
        "macro_f1": float(np.mean([metrics.macro_f1(labels, predicted[seed]) for seed in seeds])),
        "teacher_agreement": float(
            np.mean([metrics.share_equal(predicted[seed], teacher.predicted[0]) for seed in seeds])
        ),
        "ece": float(np.mean([metrics.expected_calibration_error(labels, probabilities[seed]) for seed in seeds])),
        "per_class": metrics.per_class(labels, list(predicted), names=names),
    }


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
