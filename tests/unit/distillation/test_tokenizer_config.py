"""A saved student is read by transformers' own pipeline as we read it, in batches too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.run import Origins
from limbeck.distillation.student_with_objective import inputs_of
from limbeck.distillation.training_rows import training_rows_of

MAX_LENGTH = 9  # shorter than some texts

Train = Callable[..., StudentFolder]


@pytest.fixture(params=["bilstm", "textcnn", "bag", "transformer", "distilbert"])
def student(
    request: pytest.FixtureRequest,
    run_training: Train,
    toy_corpus: Corpus,
    teacher_tokens: VocabularyFolder,
    tiny_encoder: Any,
    make_labels: Callable[..., TeacherLabels],
) -> StudentFolder:
    """One of each kind."""
    kind = request.param
    options: dict[str, Any] = {"student": {"kind": kind, "max_length": MAX_LENGTH}}
    if kind in ("transformer", "distilbert"):
        family = "teacher" if kind == "transformer" else kind
        options = {
            "student": {"kind": "transformer", "family": family, "max_length": MAX_LENGTH},
            "vocabulary": teacher_tokens,
            "origins": Origins(start_from=lambda: tiny_encoder.model),
        }
    return run_training(role="student", labels=make_labels(toy_corpus.splits["train"]), **options)


def own_probabilities(student: StudentFolder, corpus: Corpus) -> Any:
    """Of the dev rows' texts, by our own reading."""
    model = AutoModelForSequenceClassification.from_pretrained(student.folder)
    training_rows = training_rows_of(
        corpus.splits["dev"],
        None,
        tokenizer=student.folder / "tokenizer.json",
        kind=student.facts.tokenizer,
        classes=2,
        max_length=student.facts.max_length,
        with_features=False,
        device=torch.device("cpu"),
    )
    with torch.no_grad():
        logits = [
            model(**inputs_of(model, training_rows.inputs(np.array([place])))).logits
            for place in range(len(training_rows))
        ]
    return torch.cat(logits).softmax(dim=1).numpy()


@pytest.mark.parametrize("batch_size", [1, 2])
def test_the_pipeline_of_transformers_predicts_the_same(
    student: StudentFolder, toy_corpus: Corpus, batch_size: int
) -> None:
    expected = own_probabilities(student, toy_corpus)

    ask = pipeline("text-classification", model=str(student.folder), device="cpu")
    answers = ask(list(toy_corpus.splits["dev"].texts), batch_size=batch_size, top_k=None, truncation=True)

    found = [
        [next(part["score"] for part in row if part["label"] == name) for name in student.facts.labels]
        for row in answers
    ]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_tokenizer_pads_cuts_and_names_its_inputs_as_the_student_reads(student: StudentFolder) -> None:
    tokenizer = AutoTokenizer.from_pretrained(student.folder)
    config = json.loads((student.folder / "config.json").read_text(encoding="utf-8"))

    read = tokenizer(["a gorgeous film", "a " * 40], padding=True, truncation=True)

    assert len(read["input_ids"][0]) == len(read["input_ids"][1]) == MAX_LENGTH
    assert read["input_ids"][0][-1] == config["pad_token_id"]
    assert read["attention_mask"][0][-1] == 0
    types = ["token_type_ids"] if config.get("type_vocab_size") else []
    assert list(read.keys()) == ["input_ids", *types, "attention_mask"]


def test_the_file_holds_no_path(student: StudentFolder, tmp_path: Path) -> None:
    text = (student.folder / "tokenizer_config.json").read_text(encoding="utf-8")

    assert str(tmp_path) not in text
    assert json.loads(text)["model_max_length"] == MAX_LENGTH
