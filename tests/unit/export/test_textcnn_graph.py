from typing import Any

import numpy as np
import pytest
import torch

from limbeck.export.textcnn_graph import textcnn_graph
from limbeck.recipe.student import TextCnn


def section(*windows: int) -> TextCnn:
    return TextCnn(kind="textcnn", windows=list(windows), filters=6)


@pytest.mark.parametrize("windows", [(3, 4, 5), (1,), (2, 2), (15,)], ids=str)
@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
def test_the_graph_has_the_logits_of_the_student(
    windows: tuple[int, ...], pair: bool, strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    """The last window is wider than any row."""
    network, feed = strong_student(section(*windows), pair=pair), ragged(pair=pair)

    logits = onnx_logits(textcnn_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-5)


def test_all_windows_are_read_with_one_product(strong_student: Any) -> None:
    graph = textcnn_graph(strong_student(section(3, 4, 5))).graph

    products = [node for node in graph.node if node.op_type in ("MatMul", "Conv")]

    assert len(products) == 1


def test_windows_after_a_row_do_not_count(
    strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    """Filters that say less of every word than of none: an empty window would be the largest."""
    network, feed = strong_student(section(1, 2)), ragged()
    feed["lengths"][0] = 3  # otherwise it is a row of padding
    feed["input_ids"][0, :3] = 5
    with torch.no_grad():
        network.embeddings.weight.abs_()
        for layer in network.convolutions:
            layer.weight.copy_(-layer.weight.abs() / 10)
            layer.bias.fill_(3.0)

    logits = onnx_logits(textcnn_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-5)
    assert np.ptp(logits, axis=0).min() > 0.01  # rows differ: none is just the bias
