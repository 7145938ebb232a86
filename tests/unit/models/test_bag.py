"""Means of word vectors, worked by hand."""

import math
from typing import Any

import pytest
import torch

from limbeck.models.bag import BagForSequenceClassification, bag
from limbeck.recipe.student import Bag


def network(**values: Any) -> BagForSequenceClassification:
    """Words 1, 2 and 3 are (3, 0), (0, 6) and (9, 3)."""
    section = Bag.model_validate({"kind": "bag", "dense_size": 4, **values})
    model = bag(section, vocabulary_size=6, embedding_size=2, labels=["a", "b"], pair=False)
    model.start_vectors(torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0], [9.0, 3.0], [1.0, 1.0], [2.0, 2.0]]))
    model.eval()
    return model


def logarithms(model: BagForSequenceClassification) -> torch.Tensor:
    assert model.word_weights is not None
    return model.word_weights.weight


def features(model: BagForSequenceClassification, ids: list[int]) -> list[float]:
    with torch.inference_mode():
        found: list[float] = model(torch.tensor([ids])).features[0].tolist()
    return found


@pytest.mark.parametrize("word_weights", [True, False])
def test_before_anything_is_learned_all_words_count_alike(word_weights: bool) -> None:
    model = network(word_weights=word_weights)

    assert features(model, [1, 2, 3]) == pytest.approx([4.0, 3.0])
    assert features(model, [1, 2, 3, 0, 0]) == pytest.approx([4.0, 3.0])


def test_a_word_of_three_times_the_weight_counts_three_times() -> None:
    model = network()
    with torch.no_grad():
        logarithms(model)[2] = math.log(3)

    # 3 · (0, 6) + 1 · (3, 0), by 4
    assert features(model, [1, 2, 0]) == pytest.approx([0.75, 4.5])


def test_weights_of_any_size_are_safe() -> None:
    model = network()
    with torch.no_grad():
        logarithms(model).fill_(500.0)  # e to the 500 is beyond every float
        logarithms(model)[2] += math.log(3)

    assert features(model, [1, 2, 0]) == pytest.approx([0.75, 4.5], rel=1e-4)


def test_the_weight_of_padding_counts_for_nothing() -> None:
    model = network()
    with torch.no_grad():
        logarithms(model)[0] = 100.0

    assert features(model, [1, 2, 0]) == pytest.approx([1.5, 3.0])


def test_a_text_without_a_word_has_the_vector_of_padding() -> None:
    assert features(network(), [0, 0]) == [0.0, 0.0]
    assert features(network(word_weights=False), [0, 0]) == [0.0, 0.0]
