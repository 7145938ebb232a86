"""A student with a rank becomes a plain one; tests/contract checks that it has the same logits."""

from typing import Any

import pytest
import torch

from limbeck.models.folding import folded
from limbeck.models.students import word_student
from limbeck.models.word_student import WordStudentModel
from limbeck.recipe.student import Bag, BiLstm

SIZES = {"vocabulary_size": 11, "embedding_size": 6, "labels": ["a", "b"], "pair": False}


def student(**section: Any) -> WordStudentModel:
    values = {"hidden_size": 3, "dense_size": 5, **section}
    return word_student(BiLstm.model_validate(values), **SIZES)  # type: ignore[arg-type]  # a dict of known keys


def test_a_plain_student_is_given_back_as_it_is() -> None:
    network = student()

    assert folded(network) is network


def test_what_is_not_a_student_of_words_is_returned_unchanged() -> None:
    network = torch.nn.Linear(2, 2)

    assert folded(network) is network


def test_the_next_layer_absorbs_the_matrix() -> None:
    network = student(vector_rank=2)

    plain = folded(network)

    wide, matrix = network.get_parameter("levels.0.forwards.weight_ih_l0"), network.widening
    assert matrix is not None
    torch.testing.assert_close(plain.get_parameter("levels.0.forwards.weight_ih_l0"), wide @ matrix.weight)
    assert torch.equal(plain.embeddings.weight, network.embeddings.weight)
    assert plain.config.vector_rank is None


def test_the_student_itself_stays_as_it_was() -> None:
    network = student(vector_rank=2)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}

    folded(network)

    assert network.config.embedding_size == 6
    assert network.config.vector_rank == 2
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize("training", [True, False])
def test_it_is_in_the_mode_that_the_student_was_in(training: bool) -> None:
    assert folded(student(vector_rank=2).train(training)).training is training


def test_frozen_vectors_are_frozen_in_the_plain_student() -> None:
    assert not folded(student(vector_rank=2, tune_vectors=False)).embeddings.weight.requires_grad


def test_a_bag_of_pairs_cannot_be_folded() -> None:
    section = Bag.model_validate({"kind": "bag", "vector_rank": 2})
    network = word_student(section, **{**SIZES, "pair": True})  # type: ignore[arg-type]  # a dict of known keys

    with pytest.raises(ValueError, match="pair"):
        folded(network)
