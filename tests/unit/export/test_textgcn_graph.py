from typing import Any

import numpy as np
import pytest
import torch

from limbeck.export.graphs import graph_of
from limbeck.export.textgcn_graph import textgcn_graph
from limbeck.recipe.textgcn import TextGcn


@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
def test_the_graph_has_the_logits_of_the_student(
    pair: bool, strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    network, feed = strong_student(TextGcn(kind="textgcn"), pair=pair), ragged(pair=pair)
    with torch.no_grad():
        network.rarity.weight.abs_()

    logits = onnx_logits(textgcn_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=2e-5)


def test_a_hand_worked_sum(strong_student: Any, onnx_logits: Any) -> None:
    """Words of rarity 1 and 3 with states 2 and 6: (1 · 2 + 3 · 6) / √4 = 10. The second row has no rare word."""
    network = strong_student(TextGcn(kind="textgcn"))
    with torch.no_grad():
        network.embeddings.weight[3], network.embeddings.weight[4] = 2.0, 6.0
        network.rarity.weight[3], network.rarity.weight[4], network.rarity.weight[5] = 1.0, 3.0, 0.0
        network.classifier.weight.zero_()
        network.classifier.weight[0, 0] = 1.0
        network.classifier.bias.zero_()
    feed = {"input_ids": np.array([[3, 4, 9], [5, 5, 5]]), "lengths": np.array([2, 3], dtype=np.int32)}

    logits = onnx_logits(graph_of(network), feed)

    assert logits[0].tolist() == pytest.approx([10.0, 0.0, 0.0])
    assert logits[1].tolist() == [0.0, 0.0, 0.0]
