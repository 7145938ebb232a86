"""Students of the toy corpus, trained on labels that a test makes up or with the tiny teacher itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels, save_teacher_labels
from limbeck.artifacts.transfer_text import TransferText, save_transfer_text
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.progress import SilentReporter
from limbeck.text.word_tokenizer import build_word_tokenizer

KEY = Key(section={}, inputs={})
WIDTH = 8
BILSTM = {"hidden_size": 6, "dense_size": 6, "dropout": 0.1}
TRANSFORMER = {"kind": "transformer", "layers": 1, "max_length": 16}
FAST = {"epochs": 1, "batch_size": 50, "learning_rate": 0.02}


@dataclass
class Seen:
    """One training of a student, before its first step."""

    start: dict[str, Any]  # the student's weights
    trained: set[str]  # the names of those with gradients
    training_rows: Any
    training: Any
    with_objective: Any


@dataclass
class Notes(SilentReporter):
    """A reporter that keeps every note."""

    texts: list[str] = field(default_factory=list)

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.texts.append(text)


@pytest.fixture
def notes() -> Notes:
    """A reporter whose `texts` are all notes."""
    return Notes()


@pytest.fixture(scope="module")
def vocabulary(toy_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> VocabularyFolder:
    """The toy words, with vectors that no random start would hit on: ¼ or -¼ everywhere, 0 for padding."""
    folder = tmp_path_factory.mktemp("vocabulary") / "vocabulary"
    texts = toy_corpus.splits["train"].texts
    tokenizer = build_word_tokenizer(texts, language="en", max_size=100, min_count=1, lowercase=True)
    vectors = np.random.default_rng(0).choice([-0.25, 0.25], (len(tokenizer), WIDTH)).astype(np.float32)
    vectors[0] = 0.0
    with written_atomically(folder, kind="vocabulary", key=KEY) as scratch:
        tokenizer.save(scratch / "tokenizer.json")
        save_vocabulary(scratch, vectors=vectors, facts={"tokens": len(tokenizer), "width": WIDTH})
    return VocabularyFolder(folder)


@pytest.fixture(scope="module")
def teacher_tokens(
    toy_corpus: Corpus, make_teacher: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> VocabularyFolder:
    """All tokens of the tiny teacher, as a transformer student reads them."""
    from limbeck.distillation.transformer_vocabulary import build_transformer_vocabulary
    from limbeck.recipe.student import Transformer

    folder = tmp_path_factory.mktemp("teacher-tokens")
    return build_transformer_vocabulary(
        Transformer(kind="transformer"),
        corpus=toy_corpus,
        extra=[],
        form=[],
        encoder=make_teacher(folder / "teacher", parameters=1000),
        out=folder / "vocabulary",
        key=KEY,
        reporter=SilentReporter(),
    )


@pytest.fixture
def tiny_encoder(tiny_teacher_folder: Path) -> Any:
    """The tiny teacher as an opened encoder, the test's own, with weights large enough for its layers to differ."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from limbeck.teacher.encoder import Encoder

    model = AutoModelForSequenceClassification.from_pretrained(tiny_teacher_folder)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.0 if weight.ndim == 1 else 8.0)
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    return Encoder(model=model, tokenizer=tokenizer, max_length=32, arithmetic="fp32")


@pytest.fixture
def run_training(
    toy_corpus: Corpus, vocabulary: VocabularyFolder, tmp_path: Path, notes: Notes
) -> Callable[..., StudentFolder]:
    """run_training(role=…, seed=…, labels=…, student={…}, …): a trained student of the toy corpus, in its own folder.

    All other keys are those of `[distillation]`. A transformer needs its `vocabulary` and `origins`.
    """
    from pydantic import TypeAdapter

    from limbeck.distillation.run import NO_ORIGINS, Origins, train_student
    from limbeck.recipe.distillation import Distillation
    from limbeck.recipe.kinds import Student

    def run_training(
        *,
        corpus: Corpus = toy_corpus,
        role: Any = "baseline",
        seed: int = 0,
        labels: TeacherLabels | None = None,
        transfer: TransferText | None = None,
        student: dict[str, Any] | None = None,
        vocabulary: VocabularyFolder = vocabulary,
        origins: Origins = NO_ORIGINS,
        out: Path | None = None,
        **section: Any,
    ) -> StudentFolder:
        asked = student or {}
        defaults = TRANSFORMER if asked.get("kind") == "transformer" else {} if "kind" in asked else BILSTM
        return train_student(
            Distillation.model_validate({**FAST, **section}),
            student=TypeAdapter(Student).validate_python({**defaults, **asked}),
            role=role,
            seed=seed,
            corpus=corpus,
            extra=[transfer.rows] if transfer else [],
            labels=labels,
            vocabulary=vocabulary,
            out=out or tmp_path / str(len(list(tmp_path.iterdir()))),
            key=KEY,
            reporter=notes,
            origins=origins,
        )

    return run_training


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """Every training of the test, in order."""
    from limbeck.distillation.run import TrainingSetup

    found: list[Seen] = []
    prepared = TrainingSetup._student_with_objective

    def watched(self: TrainingSetup, model: Any, training: Any) -> Any:
        start = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
        trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
        with_objective = prepared(self, model, training)
        found.append(Seen(start, trained, self.training_rows, training, with_objective))
        return with_objective

    monkeypatch.setattr(TrainingSetup, "_student_with_objective", watched)
    return found


@pytest.fixture
def make_labels(tmp_path: Path) -> Callable[..., TeacherLabels]:
    """make_labels(*rows, width=None): a teacher that is sure of every label, and gives a row without one its length.

    With a width it has features too: the length of a text, and random numbers behind it.
    """

    def make(*parts: Rows, width: int | None = None) -> TeacherLabels:
        folder = tmp_path / f"labels-{len(list(tmp_path.iterdir()))}"
        rows = [
            (row_id, text, label)
            for part in parts
            for row_id, text, label in zip(part.ids, part.texts, part.labels, strict=True)
        ]
        logits = np.array([_logits(text, label) for _, text, label in rows], dtype=np.float32)
        features = None
        if width:
            features = np.random.default_rng(1).normal(size=(len(rows), width)).astype(np.float16)
            features[:, 0] = [len(text) for _, text, _ in rows]
        with written_atomically(folder, kind="labels", key=KEY) as scratch:
            ids = [str(row_id) for row_id, _, _ in rows]
            save_teacher_labels(scratch, ids=ids, logits=logits, facts={}, features=features)
        return TeacherLabels(folder)

    return make


def _logits(text: str, label: Any) -> list[float]:
    """Of two classes."""
    if np.ndim(label):
        return [8.0 * float(is_there) - 4.0 for is_there in label]
    return [4.0 * (2 * (label == number) - 1) if label >= 0 else float(len(text)) for number in range(2)]


@pytest.fixture
def make_transfer(tmp_path: Path) -> Callable[..., TransferText]:
    """make_transfer(*texts): transfer text whose rows are called transfer-0, transfer-1, …"""

    def make(*texts: str) -> TransferText:
        rows = Rows.of(ids=[f"transfer-{number}" for number in range(len(texts))], texts=texts)
        with written_atomically(tmp_path / "transfer", kind="transfer", key=KEY) as scratch:
            save_transfer_text(scratch, rows=rows, quality={})
        return TransferText(tmp_path / "transfer")

    return make
