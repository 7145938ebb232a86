"""The loss a Bi-LSTM gives with labels, and what its config tells other programs."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from transformers import pipeline

from limbeck.artifacts.student_folder import StudentFolder
from limbeck.models.bilstm import BiLstmForSequenceClassification, bilstm
from limbeck.recipe.student import BiLstm
from limbeck.runtime.probabilities import sigmoid, softmax

IDS = torch.tensor([[1, 2, 3], [4, 5, 0]])


def network(*, multi_label: bool) -> BiLstmForSequenceClassification:
    torch.manual_seed(0)
    section = BiLstm(hidden_size=5, dense_size=7)
    model = bilstm(
        section, vocabulary_size=11, embedding_size=3, labels=["a", "b"], pair=False, multi_label=multi_label
    )
    model.eval()
    return model


def test_one_label_a_row_is_learned_by_cross_entropy() -> None:
    labels = torch.tensor([0, 1])

    said = network(multi_label=False)(input_ids=IDS, labels=labels)

    torch.testing.assert_close(said.loss, F.cross_entropy(said.logits, labels))


def test_several_labels_a_row_are_learned_each_by_itself() -> None:
    labels = torch.tensor([[1, 1], [0, 0]])

    said = network(multi_label=True)(input_ids=IDS, labels=labels)

    right = torch.sigmoid(said.logits[0]), 1 - torch.sigmoid(said.logits[1])
    torch.testing.assert_close(said.loss, -torch.cat(right).log().mean())


@pytest.mark.parametrize(("multi_label", "function"), [(False, softmax), (True, sigmoid)])
def test_hugging_faces_pipeline_makes_the_right_probabilities(
    tmp_path: Path, make_student: Any, multi_label: bool, function: Any
) -> None:
    student: StudentFolder = make_student(tmp_path / "student", multi_label=multi_label)
    classify = pipeline("text-classification", model=str(student.folder), top_k=None)

    said = {entry["label"]: entry["score"] for entry in classify(["a gorgeous film"])[0]}

    ids = torch.tensor([classify.tokenizer("a gorgeous film")["input_ids"]])
    with torch.inference_mode():
        (logits,) = classify.model(ids).logits.numpy()
    expected = dict(zip(student.facts.labels, function(logits).tolist(), strict=True))
    assert said == pytest.approx(expected, abs=1e-5)
