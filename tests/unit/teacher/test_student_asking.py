"""A student that is asked says what it was trained to say, in the order of the corpus's classes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.errors import CheckpointDamaged
from limbeck.export import export_student
from limbeck.progress import Bar, SilentReporter
from limbeck.recipe.export import Export, Precision
from limbeck.teacher.student_asking import FeaturesMissing, open_student
from limbeck.text.framing import framed_teacher_tokenizer
from limbeck.text.student_tokenizer import StudentTokenizer

LABELS = ["negative", "neutral", "positive"]
TEXTS = ["a gorgeous film", "dreadful", "", "the quiet evening letter " * 20, "[MASK] film", "a film"]
PAIRS = TEXTS[::-1]

StudentWith = Callable[..., Path]


def by_hand(folder: Path, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Any:
    """What the network says of each row alone, which needs no padding."""
    network = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer, facts = StudentTokenizer.load(folder / "tokenizer.json"), StudentFolder(folder).facts

    def ids(text: str) -> torch.Tensor:
        return torch.tensor(tokenizer.encode([text], max_length=facts.max_length))

    with torch.inference_mode():
        return [
            network(input_ids=ids(text), **({"pair_ids": ids(pairs[place])} if pairs else {}))
            for place, text in enumerate(texts)
        ]


def exported(folder: Path, *, precision: Precision = "fp32") -> Path:
    rows = Rows.of(ids=TEXTS, texts=TEXTS)
    out = folder.parent / "model"
    student, key = StudentFolder(folder), Key(section={}, inputs={})
    section = Export(int8_agreement=0.0)
    export_student(
        section, student=student, rows=rows, precision=precision, out=out, key=key, reporter=SilentReporter()
    )
    return out


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_logits_are_the_networks_own_in_the_order_of_the_texts(
    tmp_path: Path, student_with: StudentWith, pairs: list[str] | None
) -> None:
    folder = student_with(tmp_path / "student", pair=pairs is not None)

    said = open_student(folder, labels=LABELS).logits(TEXTS, pairs, tokens_per_batch=30)

    expected = np.concatenate([answer.logits.numpy() for answer in by_hand(folder, TEXTS, pairs)])
    assert said.dtype == np.float32
    np.testing.assert_allclose(said, expected, atol=1e-4)


def test_classes_in_another_order_put_the_columns_in_their_places(tmp_path: Path, student_with: StudentWith) -> None:
    folder = student_with(tmp_path / "student")

    own = open_student(folder, labels=LABELS).logits(TEXTS, None)
    turned = open_student(folder, labels=["positive", "negative", "neutral"]).logits(TEXTS, None)

    np.testing.assert_array_equal(turned, own[:, [2, 0, 1]])


def test_an_exported_model_says_the_same_in_the_same_order(tmp_path: Path, student_with: StudentWith) -> None:
    folder = student_with(tmp_path / "student")
    order = ["positive", "negative", "neutral"]

    trained = open_student(folder, labels=order).logits(TEXTS, None)
    shipped = open_student(exported(folder), labels=order).logits(TEXTS, None)

    np.testing.assert_allclose(shipped, trained, atol=1e-4)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_features_are_what_the_head_of_a_student_of_words_has_read(
    tmp_path: Path, student_with: StudentWith, pooling: Any
) -> None:
    folder = student_with(tmp_path / "student")
    student = open_student(folder, labels=LABELS[::-1])

    logits, features = student.logits_and_features(TEXTS, None, pooling=pooling, tokens_per_batch=30)

    expected = np.concatenate([answer.features.numpy() for answer in by_hand(folder, TEXTS)])
    np.testing.assert_array_equal(logits, student.logits(TEXTS, None, tokens_per_batch=30))
    assert features.dtype == np.float16
    np.testing.assert_allclose(features, expected, atol=2e-3)


def test_an_exported_model_has_no_features(tmp_path: Path, student_with: StudentWith) -> None:
    student = open_student(exported(student_with(tmp_path / "student")), labels=LABELS)

    with pytest.raises(FeaturesMissing, match="students/bilstm"):
        student.logits_and_features(TEXTS, None, pooling="cls")


@pytest.mark.parametrize("ships", [False, True])
def test_the_bar_moves_over_all_rows_and_no_rows_are_no_trouble(
    tmp_path: Path, student_with: StudentWith, ships: bool
) -> None:
    class Counting(Bar):
        done = 0

        def advance(self, steps: int = 1, *, note: str = "") -> None:
            del note
            self.done += steps

    folder, bar = student_with(tmp_path / "student"), Counting()
    student = open_student(exported(folder) if ships else folder, labels=LABELS)

    student.logits(TEXTS, None, bar=bar, tokens_per_batch=8)

    assert bar.done == len(TEXTS)
    assert student.logits([], None).shape == (0, 3)


def test_a_weight_that_is_missing_is_not_drawn_at_random(tmp_path: Path, student_with: StudentWith) -> None:
    folder = student_with(tmp_path / "student")
    weights = load_file(folder / "model.safetensors")
    save_file({name: weights[name] for name in weights if "classifier" not in name}, folder / "model.safetensors")

    with pytest.raises(CheckpointDamaged, match=r"classifier\.(.|\n)*Train the student again"):
        open_student(folder, labels=LABELS)


@pytest.fixture
def framed_student(tiny_teacher_folder: Path, tmp_path: Path) -> Path:
    """The tiny BERT in a student's folder, with its own tokenizer in a frame."""
    folder = tmp_path / "transformer"
    AutoModelForSequenceClassification.from_pretrained(tiny_teacher_folder).save_pretrained(folder)
    json_text = (tiny_teacher_folder / "tokenizer.json").read_text(encoding="utf-8")
    framed_teacher_tokenizer(json_text, pad_id=0, mask_token="[MASK]", has_types=True).save(folder / "tokenizer.json")
    facts = StudentFacts(
        name="transformer", kind="transformer", role="student", seed=0, labels=["negative", "positive"], language="en",
        pair=True, max_length=16, parameters=10, parameters_without_embeddings=5, best_epoch=1, dev_accuracy=0.5,
        tokenizer="framed",
    )  # fmt: skip
    save_student_facts(folder, facts, history=[])
    return folder


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_a_transformer_student_reads_its_texts_in_their_frame(
    framed_student: Path, tiny_teacher_folder: Path, pairs: list[str] | None
) -> None:
    network = AutoModelForSequenceClassification.from_pretrained(tiny_teacher_folder)
    tokenizer = AutoTokenizer.from_pretrained(tiny_teacher_folder)
    student = open_student(framed_student, labels=["positive", "negative"])

    logits, first = student.logits_and_features(TEXTS, pairs, pooling="cls", tokens_per_batch=40)
    _, mean = student.logits_and_features(TEXTS, pairs, pooling="mean", tokens_per_batch=40)

    with torch.inference_mode():
        for place, text in enumerate(TEXTS):
            columns = [[text]] if pairs is None else [[text], [pairs[place]]]  # of a bare "" it would make no pair
            inputs = tokenizer(*columns, truncation=True, max_length=16, return_tensors="pt")
            answer = network(**inputs, output_hidden_states=True)
            states = answer.hidden_states[-1][0]
            np.testing.assert_allclose(logits[place], answer.logits[0].flip(0), atol=1e-5)
            np.testing.assert_allclose(first[place], states[0], atol=2e-3)
            np.testing.assert_allclose(mean[place], states.mean(dim=0), atol=2e-3)
