"""`limbeck evaluate`: how good a finished model is on a labelled file (the base install, in little memory)."""

import csv
import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import DataError, did_you_mean, in_shell, some
from limbeck.judging import calibration, metrics
from limbeck.judging.evaluate_scores import ScoreEvaluationResult, judged_scores
from limbeck.judging.judged_cascade import JudgedCascade
from limbeck.judging.labelled_file import FileForm, LabelledChunk, LabelledFile, opened_labelled
from limbeck.judging.metrics import Bools, Floats, Ints
from limbeck.judging.significance import SAMPLES, mcnemar, paired_interval
from limbeck.judging.slices import SliceTally
from limbeck.judging.threshold_worth import ScoreTally, parted
from limbeck.runtime.cascade import CascadeClassifier
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.fallbacks.fallback import FallbackOptionsWrong
from limbeck.runtime.probabilities import THRESHOLD, confidence, probabilities_of
from limbeck.runtime.row import Row
from limbeck.runtime.run_recipe import corpus_keys
from limbeck.tables.formats import Column, FileFormat
from limbeck.tables.label_cells import LabelSet
from limbeck.tables.raw_table import Watch, unwatched

CHUNK_ROWS = 1024
MOST_ERRORS = 10
MOST_CHARACTERS = 1_000  # of a text among the errors that are kept; the rest is cut off
NO_CLASS = -1  # of a label that the model does not know
BETWEEN_LABELS = "|"
DIGITS = 6
MOST_DIGITS = 9  # of labels that may be the numbers of classes


class Judged(Protocol):
    """All that is asked of a classifier here."""

    @property
    def facts(self) -> ModelFacts: ...
    def logits(self, rows: list[Row]) -> npt.NDArray[np.float32]: ...


@dataclass(frozen=True)
class EvaluationResult:
    """What was found. Rates are fractions; with several labels per row, `accuracy` asks for all of them to be right."""

    model: str
    file: str
    text_columns: list[str]
    label_columns: list[str]
    labels: list[str]  # the model's classes
    multi_label: bool
    rows: int  # judged
    without_text: int  # rows that were left out
    without_label: int
    accuracy: float
    accuracy_ci95: tuple[float, float]
    most_frequent: dict[str, Any]  # what a model reaches that always gives the most frequent label
    unknown_labels: dict[str, int]  # labels that the model does not know, with their rows: all of these are wrong
    unknown_rows: int
    accuracy_known: float | None  # of the other rows
    macro_f1: float
    micro_f1: float | None  # with several labels per row
    log_loss: float | None  # of rows with known labels, in nats
    ece: float
    per_class: list[dict[str, Any]]
    macro: dict[str, float]
    weighted: dict[str, float]
    confusion: list[list[int]] | None  # true classes in rows; None with several labels per row
    worst_errors: list[dict[str, Any]]  # the most confident wrong answers
    slices: dict[str, Any] | None = None  # of the rows; None if no part of them is large enough
    against: dict[str, Any] | None = None
    abstaining: dict[str, Any] | None = None  # scores, threshold, rows that belong to no class; not with several labels
    cascade: dict[str, Any] | None = None  # of a model with a fallback, which is compared with the model alone

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return asdict(self)


class LabelsUnknown(DataError):
    """The model knows none of the labels of a file."""

    def __init__(self, *, path: Path, found: Sequence[str], classes: Sequence[str]) -> None:
        self.labels = tuple(found)
        super().__init__(
            f"the model knows none of the labels of '{path}'",
            found=f"labels of the file: {some(found, most=8)}\nclasses of the model: {some(classes, most=8)}",
            advice=_mapping_advice(found, classes),
        )


def _mapping_advice(found: Sequence[str], classes: Sequence[str]) -> str:
    """Names for the labels, if it is plain which is which; otherwise how to give them."""
    folded = {name.strip().casefold(): name for name in classes}
    names = {label: folded[label.casefold()] for label in found if label.casefold() in folded}
    numbers = sorted((label for label in found if label.isdecimal() and len(label) <= MOST_DIGITS), key=int)
    if not names and len(numbers) == len(found) == len(classes):
        names = dict(zip(numbers, classes, strict=True))
    if names:
        options = " ".join(f"--label-name {in_shell(f'{label}={name}')}" for label, name in names.items())
        return f"If they mean the same, say so: {options}"
    similar = did_you_mean(found[0], classes)
    return (
        f"Name the right column with --label, or what the labels are called with --label-name LABEL=CLASS{similar}, "
        "once for each."
    )


class _Tally:
    """The answers of one model, gathered chunk by chunk: a few bytes per row and, multi-label, class."""

    def __init__(self, classifier: Judged) -> None:
        self._classifier, self.facts = classifier, classifier.facts
        self._number = {name: at for at, name in enumerate(self.facts.labels)}
        self._labels: list[Ints] = []
        self._predicted: list[Ints] = []
        self._correct: list[Bools] = []
        self.bins, self.scores = np.zeros((3, calibration.BINS)), ScoreTally(classifier.facts)
        self.loss, self.known_rows = 0.0, 0

    def add(self, chunk: LabelledChunk) -> tuple[Bools, Ints, Floats]:
        """(rows) whether each is right, its answer, and the probability of that."""
        multi_label = self.facts.multi_label
        logits = self._classifier.logits(chunk.rows)
        if not multi_label:
            self.scores.add(logits)
        logits = logits / self.facts.temperature
        probabilities = probabilities_of(logits, multi_label=multi_label).astype(np.float64)
        labels = self._numbers(chunk.labels)
        known = np.array([self._number.keys() >= set(one) for one in chunk.labels])
        predicted = (probabilities >= THRESHOLD).astype(np.int64) if multi_label else logits.argmax(axis=1)
        correct = metrics.rows_equal(labels, predicted) & known
        self.loss += float(calibration.log_losses(labels[known], logits[known]).sum())
        self.known_rows += int(known.sum())
        self.bins += calibration.binned(labels, probabilities)
        self._labels.append(labels.astype(np.int8) if multi_label else labels)
        self._predicted.append(predicted.astype(np.int8) if multi_label else predicted)
        self._correct.append(correct)
        return correct, predicted, confidence(probabilities, multi_label=multi_label)

    def _numbers(self, labels: Sequence[LabelSet]) -> Ints:
        if not self.facts.multi_label:
            return np.array([self._number.get(one[0], NO_CLASS) for one in labels], dtype=np.int64)
        marks = np.zeros((len(labels), len(self._number)), dtype=np.int64)
        for row, of_row in enumerate(labels):
            marks[row, [self._number[one] for one in of_row if one in self._number]] = 1
        return marks

    @property
    def correct(self) -> Bools:
        """(rows)"""
        return np.concatenate(self._correct)

    def numbers(self) -> dict[str, Any]:
        """The metrics of all rows so far."""
        names, labels, predicted = self.facts.labels, np.concatenate(self._labels), np.concatenate(self._predicted)
        correct, multi_label = self.correct, self.facts.multi_label
        return {
            "rows": len(correct),
            "accuracy": float(correct.mean()),
            "accuracy_ci95": metrics.accuracy_interval(correct[np.newaxis], samples=SAMPLES),
            "accuracy_known": float(correct.sum() / self.known_rows) if self.known_rows else None,
            "unknown_rows": len(correct) - self.known_rows,
            "macro_f1": metrics.macro_f1(labels, predicted),
            "micro_f1": metrics.micro_f1(labels, predicted) if multi_label else None,
            "log_loss": self.loss / self.known_rows if self.known_rows else None,
            "ece": calibration.error_of(self.bins),
            "per_class": metrics.per_class(labels, [predicted], names=names),
            "macro": metrics.averages(labels, [predicted], weighted=False),
            "weighted": metrics.averages(labels, [predicted], weighted=True),
            "confusion": None if multi_label else metrics.confusion(labels, predicted, classes=len(names)),
        }


class _Errors:
    """The wrong answers: the most confident ones are kept, all are written to a csv file if one is given."""

    def __init__(self, facts: ModelFacts, sink: TextIO | None) -> None:
        self._facts = facts
        self._worst: list[tuple[float, int, dict[str, Any]]] = []  # a heap
        self._csv = csv.writer(sink, lineterminator="\n") if sink else None
        if self._csv:
            texts = ["text", "pair"] if facts.pair else ["text"]
            self._csv.writerow(["row", *texts, "label", "predicted", "probability"])

    def add(self, chunk: LabelledChunk, answers: tuple[Bools, Ints, Floats]) -> None:
        correct, predicted, confidence = answers
        for at in np.flatnonzero(~correct).tolist():
            said, row, sure = self._names(predicted[at]), chunk.rows[at], float(confidence[at])
            texts = [row] if isinstance(row, str) else list(row)
            if self._csv:
                label, answer = (BETWEEN_LABELS.join(one) for one in (chunk.labels[at], said))
                self._csv.writerow([chunk.numbers[at], *texts, label, answer, f"{sure:.{DIGITS}f}"])
            if len(self._worst) == MOST_ERRORS and sure <= self._worst[0][0]:
                continue
            several = self._facts.multi_label
            entry = {
                "row": chunk.numbers[at],
                "text": _cut(texts[0]),
                "pair": _cut(texts[1]) if texts[1:] else None,
                "label": list(chunk.labels[at]) if several else chunk.labels[at][0],
                "predicted": said if several else said[0],
                "probability": sure,
            }
            push = heapq.heappushpop if len(self._worst) == MOST_ERRORS else heapq.heappush
            push(self._worst, (sure, -chunk.numbers[at], entry))

    def worst(self) -> list[dict[str, Any]]:
        """The most confident first; of equally confident ones, the first of the file."""
        return [entry for _, _, entry in sorted(self._worst, key=lambda one: one[:2], reverse=True)]

    def _names(self, predicted: Any) -> list[str]:
        numbers = np.flatnonzero(predicted).tolist() if self._facts.multi_label else [int(predicted)]
        return [self._facts.labels[number] for number in numbers]


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS].rstrip()}…"


def evaluate(
    model: str | Path | CascadeClassifier,
    file: str | Path,
    *,
    text: Column | None = None,
    pair: Column | None = None,
    label: Column | None = None,
    label_names: Mapping[str, str] | None = None,
    format: FileFormat | None = None,
    header: bool | None = None,
    quoting: bool | None = None,
    encoding: str | None = None,
    against: str | Path | None = None,
    errors: TextIO | None = None,
    out_of_scope: str | None = None,
    slice: Column | None = None,
    watch: Watch = unwatched,
) -> EvaluationResult | ScoreEvaluationResult:
    """Judge an exported model on a labelled file. Needs no PyTorch and no scikit-learn.

    What is not given is as in the recipe of the model's run, or else as the file looks: the label column is `label`, or
    the only one that holds the model's classes. `label_names` are the classes that labels of the file mean; rows with
    other labels count as wrong, and those with `out_of_scope` are not judged, but the model should be less sure of
    them. `against` is another model, judged on the same rows; wrong answers are written to `errors`, as csv; values of
    the column `slice` are slices, too. `watch` is called with the number of rows after each part of the file. A model
    with a fallback is compared with its student alone; one of scores is judged by correlations and errors.
    """
    form = FileForm(text, pair, label, label_names or {}, format, header, quoting, encoding, slice)
    if isinstance(model, CascadeClassifier):
        classifiers, folders, names = _with_fallback(model, against=against)
    else:
        folders = [Path(folder) for folder in (model, against) if folder is not None]
        classifiers, names = [load(folder) for folder in folders], [str(folder) for folder in folders]
    _refuse_other_rows(classifiers, folders)
    _refuse_unknown_classes(label_names or {}, classifiers[0].facts.labels)
    keys = corpus_keys(folders[0])
    outside = out_of_scope if out_of_scope is not None else keys.get("out_of_scope")
    with opened_labelled(Path(file), facts=classifiers[0].facts, form=form, keys=keys) as rows:
        if scored := [one for one in classifiers if isinstance(one, Classifier) and not one.facts.task.has_classes]:
            return judged_scores(scored, rows, names=names, errors=errors, watch=watch)
        return judged(classifiers, rows, names=names, errors=errors, out_of_scope=outside, watch=watch)


def _with_fallback(
    model: CascadeClassifier, *, against: str | Path | None
) -> tuple[Sequence[Judged], list[Path], list[str]]:
    """The cascade and its student."""
    if against is not None:
        advice = "Judge the other model by itself."
        raise FallbackOptionsWrong("a model with a fallback is compared with its student", advice=advice)
    cascade = JudgedCascade(model)
    return [cascade, cascade.student], [model.folder], [str(model.folder), "the student alone"]


def _refuse_unknown_classes(names: Mapping[str, str], classes: Sequence[str]) -> None:
    """A label that is to mean a class which the model does not have would be counted as wrong, row by row."""
    for label, name in names.items():
        if name not in classes:
            raise DataError(
                f"--label-name {label}={name}: the model has no class '{name}'{did_you_mean(name, classes)}",
                found=f"classes of the model: {some(classes, most=8)}",
                advice="Name one of its classes after the sign =.",
            )


def judged(
    classifiers: Sequence[Judged],
    file: LabelledFile,
    *,
    names: Sequence[str],
    errors: TextIO | None = None,
    out_of_scope: str | None = None,
    watch: Watch = unwatched,
) -> EvaluationResult:
    """The first classifier on the rows of an opened file, compared with the second, if there is one."""
    tally, *others = [_Tally(classifier) for classifier in classifiers]
    facts, counts = tally.facts, Counter[LabelSet]()
    wrong, slices = _Errors(facts, errors), SliceTally(language=facts.language)
    for part in file.chunks(CHUNK_ROWS):
        watch(len(part.rows))
        inside, outside = parted(part.labels, out_of_scope=out_of_scope)
        if outside:
            tally.scores.add_foreign(classifiers[0].logits([part.rows[at] for at in outside]))
        if not inside:
            continue
        chunk = part.at(inside) if outside else part
        counts.update(chunk.labels)
        answers = tally.add(chunk)
        wrong.add(chunk, answers)
        slices.add(chunk.rows, answers[0], chunk.groups)
        for other in others:
            other.add(chunk)
    _refuse_nothing_to_judge(file, counts, facts)
    numbers, both = tally.numbers(), classifiers[0]
    most, its_rows = counts.most_common(1)[0]
    return EvaluationResult(
        model=names[0],
        file=str(file.path),
        text_columns=file.text_columns,
        label_columns=file.label_columns,
        labels=list(facts.labels),
        multi_label=facts.multi_label,
        without_text=file.without_text,
        without_label=file.without_label,
        most_frequent={
            "label": list(most) if facts.multi_label else most[0],
            "accuracy": its_rows / numbers["rows"],
        },
        unknown_labels=_unknown(counts, facts),
        worst_errors=wrong.worst(),
        slices=slices.result(),
        abstaining=tally.scores.result(tally.correct),
        against=_compared(tally, others[0], name=names[1]) if others else None,
        cascade=both.found(correct=tally.correct, student_correct=others[0].correct)
        if isinstance(both, JudgedCascade)
        else None,
        **numbers,
    )


def _unknown(counts: Counter[LabelSet], facts: ModelFacts) -> dict[str, int]:
    """The labels that are no classes, the most frequent first."""
    found = Counter[str]()
    for labels, rows in counts.items():
        found.update({label: rows for label in labels if label not in facts.labels})
    return dict(found.most_common())


def _compared(tally: _Tally, other: _Tally, *, name: str) -> dict[str, Any]:
    test, own, others = mcnemar(tally.correct, other.correct), tally.numbers(), other.numbers()
    interval = paired_interval(test["only_this"], test["only_other"], rows=own["rows"])
    return {
        "model": name,
        **{key: others[key] for key in ("accuracy", "macro_f1", "log_loss", "ece")},
        "difference": own["accuracy"] - others["accuracy"],
        "ci95": interval,
        "mcnemar": test,
    }


def _refuse_nothing_to_judge(file: LabelledFile, counts: Counter[LabelSet], facts: ModelFacts) -> None:
    if not counts:
        left_out = {"text": file.without_text, "label": file.without_label}
        found = ", ".join(f"{rows:,} rows without {what}" for what, rows in left_out.items() if rows)
        raise DataError(
            f"no row of '{file.path}' has both a text and a label",
            found=f"{found}; the label is read from {some(file.label_columns)}",
            advice="Name other columns: --text COLUMN --label COLUMN.",
        )
    present = Counter[str]()
    for labels, rows in counts.items():
        present.update(dict.fromkeys(labels, rows))
    if present and not present.keys() & set(facts.labels):
        found_labels = [label for label, _ in present.most_common()]
        raise LabelsUnknown(path=file.path, found=found_labels, classes=facts.labels)


def _refuse_other_rows(classifiers: Sequence[Judged], folders: Sequence[Path]) -> None:
    """Raise if two models cannot be judged on the same rows."""
    facts = [classifier.facts for classifier in classifiers]
    for what, values in {
        "one reads pairs of texts and the other single texts": {one.pair for one in facts},
        "one gives several labels per row and the other one": {one.multi_label for one in facts},
        "one gives labels and the other scores": {one.task.has_classes for one in facts},
    }.items():
        if len(values) > 1:
            raise DataError(
                f"'{folders[0]}' and '{folders[1]}' cannot be compared on the same rows",
                found=what,
                advice="Give --against a model of the same task.",
            )
