from typing import Any

import numpy as np
import pytest
import torch

from limbeck.export.ngrams_graph import ngrams_graph
from limbeck.recipe.student import Ngrams


def section(*, dense_size: int = 0) -> Ngrams:
    return Ngrams(kind="ngrams", dense_size=dense_size)


@pytest.mark.parametrize("dense_size", [0, 16])
@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
def test_the_graph_has_the_logits_of_the_student(
    dense_size: int, pair: bool, strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    network, feed = strong_student(section(dense_size=dense_size), pair=pair), ragged(pair=pair)

    logits = onnx_logits(ngrams_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=2e-5)


@pytest.mark.parametrize("shift", [-500.0, 500.0])
def test_only_how_weights_differ_within_a_text_counts(
    shift: float, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    """The exponential of 500 overflows float32, that of -500 is 0."""
    network = strong_student(section())
    before = onnx_logits(ngrams_graph(network), ragged())
    with torch.no_grad():
        network.word_weights.weight.add_(shift)

    after = onnx_logits(ngrams_graph(network), ragged())

    np.testing.assert_allclose(after, before, atol=2e-3)  # weights near 500 have 4 decimals


def test_a_hand_worked_sum(strong_student: Any, onnx_logits: Any) -> None:
    """Weights 3 and 4 have the length 5: (3 · 1 + 4 · 5) / 5 = 4.6."""
    network = strong_student(section())
    with torch.no_grad():
        network.embeddings.weight[3], network.embeddings.weight[4] = 1.0, 5.0
        network.word_weights.weight[3], network.word_weights.weight[4] = float(np.log(3)), float(np.log(4))
        network.classifier.weight.zero_()
        network.classifier.weight[0, 0] = 1.0
        network.classifier.bias.zero_()

    logits = onnx_logits(
        ngrams_graph(network), {"input_ids": np.array([[3, 4, 9]]), "lengths": np.array([2], dtype=np.int32)}
    )

    assert logits[0].tolist() == pytest.approx([4.6, 0.0, 0.0])
