"""Runs a trained student as a teacher: in PyTorch, or exported."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from limbeck.artifacts.model_folder import CARD, TOKENIZER, ModelFacts, ModelFolder
from limbeck.artifacts.score_scale import ScoreScale
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.errors import CheckpointDamaged, TeacherError, some
from limbeck.models.checkpoint import damage_as_user_errors, model_from_folder
from limbeck.progress import Bar
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row
from limbeck.teacher.encoder import TOKENS_PER_BATCH, Pooling, mean_state
from limbeck.text.student_reader import StudentReader, has_token_types
from limbeck.training.asking import AnsweredBatch, answers_in_batches
from limbeck.training.device import training_device
from limbeck.training.modes import quiet_transformers

ROWS_PER_CALL = 2048  # of an exported model, so that the bar moves

Logits = npt.NDArray[np.float32]
Features = npt.NDArray[np.float16]


class FeaturesMissing(TeacherError):
    """Features are needed, but the teacher is an exported model, which only gives logits."""

    def __init__(self, *, model: str) -> None:
        super().__init__(
            f"'{model}' is an exported model and only gives logits; labeling.features, or a loss, asks for features",
            advice='Name the trained student that it was exported from as the teacher: path = "runs/NAME/students/'
            'bilstm"',
        )


class TorchStudent:
    """A student as it was trained, in fp32; its logits are reordered to the corpus's classes."""

    def __init__(self, network: Any, reader: StudentReader, *, order: Sequence[int]) -> None:
        self._network, self._reader, self._order = network, reader, list(order)
        self._device: torch.device = next(iter(network.parameters())).device

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) in the order of the texts; in eval mode, without gradients."""
        found = torch.zeros((len(texts), len(self._order)), device=self._device)
        for places, _, answer in self._answers(texts, pairs, tokens_per_batch=tokens_per_batch, bar=bar):
            found[places] = answer.logits.float()
        return found[:, self._order].cpu().numpy()

    def logits_and_features(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        pooling: Pooling,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> tuple[Logits, Features]:
        """The logits as `logits` gives them, and (rows, width): the input of its head for each row.

        A word-level student has one vector for both poolings. A transformer's comes from its last hidden states: "cls"
        is that of the first token, "mean" the mean over all tokens except padding.
        """
        found = torch.zeros((len(texts), len(self._order)), device=self._device)
        features = torch.zeros((len(texts), 0), dtype=torch.float16, device=self._device)
        asked = self._answers(texts, pairs, tokens_per_batch=tokens_per_batch, bar=bar, output_hidden_states=True)
        for places, batch, answer in asked:
            read = _features(answer, batch["attention_mask"], pooling=pooling)
            if not features.shape[1]:
                features = features.new_zeros((len(texts), read.shape[1]))
            found[places], features[places] = answer.logits.float(), read.half()
        return found[:, self._order].cpu().numpy(), features.cpu().numpy()

    def _answers(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None,
        bar: Bar | None,
        **options: Any,
    ) -> Iterator[AnsweredBatch]:
        return answers_in_batches(
            self._network,
            self._reader.read(texts, pairs),
            with_types=has_token_types(self._network.config),
            tokens_per_batch=tokens_per_batch or TOKENS_PER_BATCH.get(self._device.type, TOKENS_PER_BATCH["cpu"]),
            bar=bar,
            **options,
        )


class ExportedStudent:
    """An exported model, run as it ships."""

    def __init__(self, model: Classifier, *, order: Sequence[int]) -> None:
        self._model, self._order = model, list(order)

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> Logits:
        """(rows, classes) in the order of the texts."""
        del tokens_per_batch  # the runtime makes its own batches
        rows: list[Row] = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        blocks = [np.zeros((0, len(self._order)), dtype=np.float32)]
        for start in range(0, len(rows), ROWS_PER_CALL):
            blocks.append(self._model.logits(rows[start : start + ROWS_PER_CALL])[:, self._order])
            if bar:
                bar.advance(len(blocks[-1]))
        return np.concatenate(blocks)

    def logits_and_features(self, *_: object, **__: object) -> tuple[Logits, Features]:
        """It has no features: raises FeaturesMissing."""
        raise FeaturesMissing(model=self._model.facts.name)


class InOtherUnits:
    """A student of scores, whose standard units are those of its own corpus: its answers in those of another one."""

    def __init__(self, student: TorchStudent | ExportedStudent, *, own: ScoreScale, wanted: ScoreScale) -> None:
        self._student, self._own, self._wanted = student, own, wanted

    def logits(self, *rows: Any, **options: Any) -> Logits:
        """(rows, 1)"""
        return self._converted(self._student.logits(*rows, **options))

    def logits_and_features(self, *rows: Any, **options: Any) -> tuple[Logits, Features]:
        """(rows, 1), and the features as they are."""
        logits, features = self._student.logits_and_features(*rows, **options)
        return self._converted(logits), features

    def _converted(self, logits: Logits) -> Logits:
        return self._wanted.standard(self._own.scores(logits)).astype(np.float32)


def open_student(
    folder: Path, *, labels: Sequence[str], scale: ScoreScale | None = None
) -> TorchStudent | ExportedStudent | InOtherUnits:
    """The student in this folder, trained or exported, with its classes in the order of the labels; or its scores in
    the units of the `scale`."""
    facts: ModelFacts | StudentFacts
    facts = ModelFolder(folder).facts() if (folder / CARD).is_file() else StudentFolder(folder).facts
    student = _opened(folder, facts, labels=labels)
    if scale is None or facts.scale is None:
        return student
    own = facts.scale if isinstance(facts.scale, ScoreScale) else ScoreScale.from_json(facts.scale)
    return InOtherUnits(student, own=own, wanted=scale)


def _opened(folder: Path, facts: ModelFacts | StudentFacts, *, labels: Sequence[str]) -> TorchStudent | ExportedStudent:
    if isinstance(facts, ModelFacts):
        model = Classifier(ModelFolder(folder))
        return ExportedStudent(model, order=[model.labels.index(label) for label in labels])
    reader = StudentReader.load(folder / TOKENIZER, is_framed=facts.tokenizer == "framed", max_length=facts.max_length)
    return TorchStudent(_network(folder), reader, order=[facts.labels.index(label) for label in labels])


def open_student_teacher(teacher: TeacherFolder) -> TorchStudent | ExportedStudent | InOtherUnits:
    """The student that is the teacher of a run, on the GPU if there is one."""
    facts = teacher.facts
    scale = None if facts.scale is None else ScoreScale.from_json(facts.scale)
    return open_student(teacher.folder, labels=facts.labels, scale=scale)


def _network(folder: Path) -> Any:
    """Raises if a weight is missing: transformers would initialise it at random."""
    quiet_transformers()
    with damage_as_user_errors(folder):
        network, loading = model_from_folder(
            AutoModelForSequenceClassification,
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
        )
    unusable = sorted({str(key) for name in ("missing_keys", "mismatched_keys") for key in loading[name]})
    if unusable:
        reason = f"weights that are missing, or have another shape than in its config.json: {some(unusable)}"
        raise CheckpointDamaged(path=folder, reason=reason, advice="Train the student again with this version.")
    return network.to(training_device()).eval()


def _features(answer: Any, mask: Tensor, *, pooling: Pooling) -> Tensor:
    """(rows, width)"""
    own: Tensor | None = getattr(answer, "features", None)
    if own is not None:
        return own
    states: Tensor = answer.hidden_states[-1].float()
    return states[:, 0] if pooling == "cls" else mean_state(states, mask.bool())
