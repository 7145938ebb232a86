"""The answers of the teacher and of every exported model on the judged rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows, runtime_rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.errors import TooFewRows
from limbeck.judging import calibration, metrics
from limbeck.kinds import STUDENT_KINDS
from limbeck.models.auto_classes import register_auto_classes
from limbeck.models.checkpoint import model_from_folder
from limbeck.progress import Bar
from limbeck.runtime.classifier import load
from limbeck.runtime.probabilities import confidence, probabilities_of
from limbeck.runtime.row import Row
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.training.asking import answers_in_batches
from limbeck.training.device import training_device
from limbeck.training.modes import quiet_transformers
from limbeck.training.skill import predicted

ROWS_PER_CALL = 2048  # so that the bar moves


@dataclass(frozen=True)
class ModelAnswers:
    """The logits of one model on the judged rows, one copy of the model per seed."""

    labels: metrics.Ints  # (rows), the true ones; multi-label: (rows, classes) of 0 and 1
    logits: npt.NDArray[np.float32]  # (seeds, rows, classes)
    temperatures: tuple[float, ...] | None = None  # one per seed, as stored in the exports; None for a teacher
    shipped_place: int | None = 0  # index of the seed that ships; None: none of them

    @property
    def is_multi_label(self) -> bool:
        """Whether a row may have several labels."""
        return self.labels.ndim == 2

    @cached_property
    def predicted(self) -> metrics.Ints:
        """(seeds, rows): class numbers; multi-label: (seeds, rows, classes) of 0 and 1."""
        return predicted(self.logits, multi_label=self.is_multi_label)

    @cached_property
    def correct(self) -> metrics.Bools:
        """(seeds, rows): whether the prediction is correct, in every label."""
        return np.stack([metrics.rows_equal(of_seed, self.labels) for of_seed in self.predicted])

    @cached_property
    def accuracies(self) -> list[float]:
        """One per seed."""
        return [float(share) for share in self.correct.mean(axis=1)]

    @cached_property
    def probabilities(self) -> metrics.Floats:
        """(seeds, rows, classes): at temperature 1."""
        return probabilities_of(self.logits, multi_label=self.is_multi_label).astype(np.float64)

    @cached_property
    def calibrated(self) -> metrics.Floats:
        """(seeds, rows, classes): at the temperatures of the exports; for a teacher at 1."""
        if self.temperatures is None:
            return self.probabilities
        scaled = self.logits / np.array(self.temperatures, dtype=np.float32)[:, np.newaxis, np.newaxis]
        return probabilities_of(scaled, multi_label=self.is_multi_label).astype(np.float64)

    @cached_property
    def confidence(self) -> metrics.Floats:
        """(seeds, rows): the calibrated probability of the prediction."""
        return confidence(self.calibrated, multi_label=self.is_multi_label)

    @cached_property
    def shipped(self) -> "ModelAnswers | None":
        """The answers of the seed that ships."""
        if self.shipped_place is None:
            return None
        seed = slice(self.shipped_place, self.shipped_place + 1)
        temperatures = None if self.temperatures is None else self.temperatures[seed]
        return ModelAnswers(labels=self.labels, logits=self.logits[seed], temperatures=temperatures)

    def at(self, places: metrics.Ints) -> "ModelAnswers":
        """The answers on some of the rows."""
        return ModelAnswers(self.labels[places], self.logits[:, places], self.temperatures, self.shipped_place)


@dataclass(frozen=True)
class TeacherAnswers:
    """The teacher's answers, and on which of the judged rows: a file teacher may not have answers for all of them."""

    places: metrics.Ints  # among the judged rows
    answers: ModelAnswers  # on the rows at these places

    @classmethod
    def of(cls, labels: TeacherLabels, rows: Rows) -> "TeacherAnswers":
        """The teacher's labels of these rows."""
        places = np.flatnonzero(labels.covers(rows.ids)).astype(np.int64)
        covered = rows.select(places)
        logits = labels.for_rows(covered.ids)
        return cls(places=places, answers=ModelAnswers(labels=covered.labels, logits=logits[np.newaxis]))

    def compared(self, answers: ModelAnswers) -> dict[str, Any]:
        """The keys of a line about how close it is to the teacher, on the rows that the teacher answered.

        If those are only some of the judged rows, also the accuracy on them: that is the one to compare with the
        teacher's.
        """
        if len(self.places) == 0:
            return {"teacher_agreement": None, "kl_to_teacher": None}
        known, teacher = answers.at(self.places), self.answers
        shares = [metrics.share_equal(of_seed, teacher.predicted[0]) for of_seed in known.predicted]
        multi_label = teacher.is_multi_label
        distances = [calibration.kl(teacher.logits[0], of_seed, multi_label=multi_label) for of_seed in known.logits]
        closeness = {"teacher_agreement": float(np.mean(shares)), "kl_to_teacher": float(np.mean(distances))}
        if len(self.places) == len(answers.labels):
            return closeness
        return {**closeness, "accuracy_on_teacher_rows": float(np.mean(known.accuracies))}


def judged_rows(corpus: Corpus) -> Rows:
    """The rows of the judged split that have a label."""
    rows = labelled_rows(corpus, corpus.judged_split)
    if len(rows) == 0:
        raise TooFewRows(what=f"{corpus.judged_split}: rows with a label", rows=0, needed=1)
    return rows


def labelled_rows(corpus: Corpus, split: str) -> Rows:
    """The rows of a split that have a label; possibly none."""
    rows = corpus.splits[split]
    return rows.select(np.flatnonzero(rows.is_labelled))


def answers_of(
    exports: Mapping[int, ModelFolder],
    *,
    rows: Rows,
    bar: Bar,
    shipped_place: int | None = 0,
    students: Mapping[int, StudentFolder] | None = None,
) -> ModelAnswers:
    """The answers of the exported files, one per seed, each loaded as in production.

    If the `students` that they were made from are given, transformers run as PyTorch networks on a GPU.
    """
    asked, students = runtime_rows(rows), students or {}
    logits = [_logits(export, rows, asked, bar=bar, student=students.get(seed)) for seed, export in exports.items()]
    temperatures = tuple(export.facts().temperature for export in exports.values())
    return ModelAnswers(rows.labels, np.stack(logits), temperatures, shipped_place)


def _logits(
    export: ModelFolder, rows: Rows, asked: list[Row], *, bar: Bar, student: StudentFolder | None
) -> npt.NDArray[np.float32]:
    if student is not None and has_fast_network(export):
        by_network = network_logits(export, student, rows, asked, bar=bar)
        if by_network is not None:
            return by_network
    classifier = load(export.folder)
    pieces = [np.zeros((0, len(classifier.labels)), dtype=np.float32)]
    for start in range(0, len(asked), ROWS_PER_CALL):
        piece = asked[start : start + ROWS_PER_CALL]
        pieces.append(np.asarray(classifier.logits(piece), dtype=np.float32))
        bar.advance(len(piece))
    return np.concatenate(pieces)


Logits = npt.NDArray[np.float32]

TOKENS_PER_BATCH = 65_536
COMPARED_ROWS = 64  # run by the network and by the exported file
TOLERANCE = 1e-3  # largest difference of a logit between the two, which sum in different orders


def has_fast_network(model: ModelFolder) -> bool:
    """Whether the file is slow on a CPU, and its network can run on a GPU with the same logits up to rounding."""
    facts = model.facts()
    kind = STUDENT_KINDS.get(facts.kind)
    return kind is not None and kind.has_layers and facts.precision == "fp32" and training_device().type == "cuda"


def network_logits(
    model: ModelFolder, student: StudentFolder, rows: Rows, asked: Sequence[Row], *, bar: Bar
) -> Logits | None:
    """(rows, classes) by the trained network. None if the exported file gives other logits for a sample of the rows."""
    some = np.unique(np.linspace(0, len(rows) - 1, num=min(COMPARED_ROWS, len(rows)), dtype=np.int64))
    by_file = load(model.folder).logits([asked[place] for place in some])
    network, facts = _network(student), student.facts
    reader = StudentReader.load(
        student.folder / "tokenizer.json", is_framed=facts.tokenizer == "framed", max_length=facts.max_length
    )
    found = _network_logits(network, reader, rows.select(some), bar=None)
    if len(some) and np.abs(found - by_file).max() > TOLERANCE:
        return None
    return _network_logits(network, reader, rows, bar=bar)


def _network(student: StudentFolder) -> Any:
    quiet_transformers()
    register_auto_classes()
    network = model_from_folder(AutoModelForSequenceClassification, student.folder, dtype=torch.float32)
    return network.to(training_device())


def _network_logits(network: Any, reader: StudentReader, rows: Rows, *, bar: Bar | None) -> Logits:
    found = torch.zeros((len(rows), network.config.num_labels), device=training_device())
    asked = answers_in_batches(
        network,
        reader.read(rows.texts, rows.pairs),
        with_types=has_token_types(network.config),
        tokens_per_batch=TOKENS_PER_BATCH,
        bar=bar,
    )
    for places, _, answer in asked:
        found[places] = answer.logits.float()
    logits: Logits = found.cpu().numpy()
    return logits
