from typing import Any

import numpy as np
import pytest
import torch

from limbeck.export.bilstm_graph import bilstm_graph
from limbeck.recipe.student import BiLstm

every_pooling = pytest.mark.parametrize("pooling", ["max", "last", "mean", "attention"])
both_cells = pytest.mark.parametrize("cell", ["lstm", "gru"])


def section(**choices: Any) -> BiLstm:
    return BiLstm.model_validate({"hidden_size": 8, "dense_size": 16, **choices})


@every_pooling
@both_cells
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
def test_the_graph_has_the_logits_of_the_student(
    pooling: str,
    cell: str,
    layers: int,
    pair: bool,
    strong_student: Any,
    ragged: Any,
    torch_logits: Any,
    onnx_logits: Any,
) -> None:
    network, feed = strong_student(section(pooling=pooling, cell=cell, layers=layers), pair=pair), ragged(pair=pair)

    logits = onnx_logits(bilstm_graph(network), feed)

    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-5)


@every_pooling
@both_cells
def test_a_row_has_the_same_logits_alone_and_in_a_batch(
    pooling: str, cell: str, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    graph, feed = bilstm_graph(strong_student(section(pooling=pooling, cell=cell, layers=2))), ragged()
    together = onnx_logits(graph, feed)

    for row in range(1, len(together)):
        length = feed["lengths"][row]
        alone = {"input_ids": feed["input_ids"][row : row + 1, :length], "lengths": feed["lengths"][row : row + 1]}

        np.testing.assert_allclose(onnx_logits(graph, alone)[0], together[row], atol=1e-5)


@both_cells
def test_both_texts_of_a_pair_are_read_with_the_same_weights(cell: str, strong_student: Any) -> None:
    graph = bilstm_graph(strong_student(section(cell=cell), pair=True)).graph

    one, other = (node for node in graph.node if node.op_type == cell.upper())

    assert list(one.input[1:4]) == list(other.input[1:4])


@both_cells
def test_pooling_finds_the_largest_state_even_if_all_are_negative(
    cell: str, strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    """With zeros for padding, as onnxruntime leaves them, the largest value of a short row would be 0."""
    network = strong_student(section(cell=cell, pooling="max"))
    with torch.no_grad():
        for direction in network.levels[0].values():
            direction.get_parameter("bias_ih_l0")[16:24] = -5.0  # the new content of both cells: every state below zero

    logits = onnx_logits(bilstm_graph(network), ragged())

    np.testing.assert_allclose(logits, torch_logits(network, ragged()), atol=1e-5)


def test_an_unknown_pooling_is_refused(strong_student: Any) -> None:
    network = strong_student(section())
    network.config.pooling = "median"

    with pytest.raises(ValueError, match="'median'"):
        bilstm_graph(network)
