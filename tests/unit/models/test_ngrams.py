"""Sums of n-gram vectors, worked by hand."""

import math
from typing import Any

import pytest
import torch

from limbeck.models.ngrams import NgramsForSequenceClassification, ngrams
from limbeck.recipe.student import Ngrams

VECTORS = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0], [9.0, 3.0], [1.0, 1.0], [2.0, 2.0]])


def network(*, width: int = 2, **values: Any) -> NgramsForSequenceClassification:
    section = Ngrams.model_validate({"kind": "ngrams", **values})
    model = ngrams(section, vocabulary_size=6, embedding_size=width, labels=["a", "b"], pair=False)
    model.start(word_weights=torch.zeros(6), vectors=VECTORS, classifier=torch.tensor([[1.0, 0.0, 5.0], [0, 1.0, 7.0]]))
    model.eval()
    return model


def features(model: NgramsForSequenceClassification, ids: list[int]) -> list[float]:
    with torch.inference_mode():
        found: list[float] = model(torch.tensor([ids])).features[0].tolist()
    return found


def test_equal_weights_have_the_length_1() -> None:
    model = network()

    assert features(model, [1, 2]) == pytest.approx([3 / math.sqrt(2), 6 / math.sqrt(2)])
    assert features(model, [1, 2, 0, 0]) == pytest.approx([3 / math.sqrt(2), 6 / math.sqrt(2)])


@pytest.mark.parametrize("shift", [0.0, 500.0, -500.0])
def test_weights_are_those_of_tf_idf(shift: float) -> None:
    """Weights 3 and 4 have the length 5, whatever they are multiplied with."""
    model = network()
    with torch.no_grad():
        model.word_weights.weight[1], model.word_weights.weight[2] = math.log(3) + shift, math.log(4) + shift

    assert features(model, [1, 2]) == pytest.approx([3 * 3 / 5, 6 * 4 / 5], rel=1e-3)


def test_a_fit_is_read_by_the_classifier_it_came_with() -> None:
    with torch.inference_mode():
        logits = network()(torch.tensor([[1]])).logits

    assert logits[0].tolist() == pytest.approx([3.0 + 5.0, 7.0])


def test_wider_vectors_start_with_the_same_logits_and_can_use_their_further_numbers() -> None:
    wide = network(width=4)
    logits = wide(torch.tensor([[1, 2]])).logits

    logits.sum().backward()

    torch.testing.assert_close(logits, network()(torch.tensor([[1, 2]])).logits)
    gradient = wide.embeddings.weight.grad
    assert gradient is not None
    assert (gradient[1, 2:] != 0).all()


def test_dropout_leaves_out_whole_n_grams() -> None:
    """What is left is read as a text of its own, so there are four possible sums of two n-grams."""
    torch.manual_seed(0)
    model = network(dropout=0.5).train()

    found = {tuple(round(number, 3) for number in row) for row in model(torch.tensor([[1, 2]] * 200)).features.tolist()}

    half = math.sqrt(0.5)
    assert found == {(0.0, 0.0), (3.0, 0.0), (0.0, 6.0), (round(3 * half, 3), round(6 * half, 3))}


def test_a_text_without_an_n_gram_has_the_vector_of_padding() -> None:
    assert features(network(), [0, 0]) == [0.0, 0.0]
