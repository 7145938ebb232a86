"""A student before training: what it gets from the teacher, and that a baseline gets nothing."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.distillation.new_student import new_student
from limbeck.recipe.kinds import Student
from limbeck.recipe.student import BiLstm

Make = Callable[..., Any]


@pytest.fixture
def make(toy_corpus: Corpus, vocabulary: VocabularyFolder, teacher_tokens: VocabularyFolder) -> Make:
    """make(kind=…, alone=False, start_from=None, …): a new student of the toy corpus."""

    def make(*, alone: bool = False, start_from: Any = None, **section: Any) -> Any:
        tokens = teacher_tokens if section.get("kind") == "transformer" else vocabulary
        asked = TypeAdapter(Student).validate_python(section)
        return new_student(asked, alone=alone, vocabulary=tokens, corpus=toy_corpus, start_from=start_from)

    return make


@pytest.mark.parametrize("kind", ["bilstm", "textcnn", "bag"])
def test_each_kind_of_words_gets_the_vectors_of_the_vocabulary(make: Make, kind: str) -> None:
    student = make(kind=kind)

    assert student.config.model_type == f"limbeck_{kind}"
    assert student.embeddings.weight[1:].abs().eq(0.25).all()
    assert student.config.id2label == {0: "negative", 1: "positive"}


def test_both_channels_of_vectors_start_alike(make: Make) -> None:
    student = make(kind="textcnn", static_channel=True)

    assert torch.equal(student.embeddings.weight, student.static_embeddings.weight)
    assert not student.static_embeddings.weight.requires_grad


@pytest.mark.parametrize("kind", ["bilstm", "textcnn", "bag"])
def test_a_baseline_has_no_vectors_of_the_teacher_and_learns_its_own(make: Make, kind: str) -> None:
    student = make(kind=kind, alone=True, tune_vectors=False)

    assert not student.embeddings.weight.abs().eq(0.25).any()
    assert student.embeddings.weight.requires_grad
    assert student.embeddings.weight[0].tolist() == [0.0] * 8


def test_a_baseline_keeps_frozen_vectors_of_a_file(make: Make) -> None:
    student = make(kind="bilstm", alone=True, tune_vectors=False, word_vectors="glove.txt")

    assert student.embeddings.weight[1:].abs().eq(0.25).all()
    assert not student.embeddings.weight.requires_grad


@pytest.fixture
def in_parts(vocabulary: VocabularyFolder, tmp_path: Path) -> Callable[..., VocabularyFolder]:
    """in_parts(first, second): the toy words with three numbers from one source and five from another."""

    def in_parts(first: str, second: str) -> VocabularyFolder:
        folder = Path(shutil.copytree(vocabulary.folder, tmp_path / "in-parts"))
        parts = [{"source": first, "width": 3}, {"source": second, "width": 5}]
        save_vocabulary(folder, vectors=vocabulary.vectors(), facts={**vocabulary.facts, "parts": parts})
        return VocabularyFolder(folder)

    return in_parts


@pytest.mark.parametrize(
    ("sources", "alone", "given"),
    [
        (("teacher", "file"), False, [True] * 8),
        (("teacher", "file"), True, [False] * 3 + [True] * 5),
        (("file", "random"), True, [True] * 3 + [False] * 5),
        (("random", "teacher"), False, [False] * 3 + [True] * 5),
        (("random", "teacher"), True, [False] * 8),
    ],
)
def test_of_several_sources_only_what_a_student_may_have_is_given(
    in_parts: Callable[..., VocabularyFolder],
    toy_corpus: Corpus,
    sources: tuple[str, str],
    alone: bool,
    given: list[bool],
) -> None:
    named = ["glove.txt" if source == "file" else source for source in sources]
    section = BiLstm(word_vectors=named, static_channel=True)

    student = new_student(section, alone=alone, vocabulary=in_parts(*sources), corpus=toy_corpus, start_from=None)

    start = student.embeddings.weight
    assert start[1:].abs().eq(0.25).all(dim=0).tolist() == given
    assert (start[1:].abs().sum(dim=0) > 0).all()  # what is not given is random
    assert start[0].tolist() == [0.0] * 8
    assert torch.equal(start, student.static_embeddings.weight)


def test_a_baseline_with_a_random_part_in_place_of_the_teachers_learns_its_vectors(
    in_parts: Callable[..., VocabularyFolder], toy_corpus: Corpus
) -> None:
    section = BiLstm(word_vectors=["teacher", "glove.txt"], tune_vectors=False)
    words = in_parts("teacher", "file")

    distilled, alone = (
        new_student(section, alone=alone, vocabulary=words, corpus=toy_corpus, start_from=None)
        for alone in (False, True)
    )

    assert not distilled.embeddings.weight.requires_grad
    assert alone.embeddings.weight.requires_grad


def test_the_random_start_is_drawn_from_torchs_own_state(make: Make) -> None:
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        weights.append(make(kind="bilstm").classifier.weight)

    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("alone", [False, True])
def test_a_transformer_starts_from_the_classifier_it_is_given(make: Make, tiny_encoder: Any, alone: bool) -> None:
    student = make(kind="transformer", layers=2, alone=alone, start_from=tiny_encoder.model)

    theirs = tiny_encoder.model.state_dict()
    assert all(torch.equal(weight, theirs[name]) for name, weight in student.state_dict().items())
    assert student.config.num_labels == 2
    assert {weight.requires_grad for weight in student.parameters()} == {True}


def test_a_transformer_at_random_has_the_shape_of_the_classifier_and_none_of_its_weights(
    make: Make, tiny_encoder: Any
) -> None:
    torch.manual_seed(1)  # the tiny teacher was drawn with 0

    student = make(kind="transformer", layers=2, start="random", start_from=tiny_encoder.model)

    theirs = tiny_encoder.model.state_dict()
    assert {name: weight.shape for name, weight in student.state_dict().items()} == {
        name: weight.shape for name, weight in theirs.items()
    }
    name = "bert.encoder.layer.0.output.dense.weight"
    assert not torch.equal(student.state_dict()[name], theirs[name])
