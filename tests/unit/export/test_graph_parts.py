from typing import Any

import numpy as np
import pytest

from limbeck.export.graph_parts import EMBEDDINGS, OPSET, one_more_row
from limbeck.export.graphs import graph_of
from limbeck.recipe.student import Bag, BiLstm, TextCnn, WordStudent

SECTIONS: list[WordStudent] = [
    BiLstm(hidden_size=8, dense_size=16),
    TextCnn(kind="textcnn", windows=[2, 3], filters=6),
    Bag(kind="bag", dense_size=16),
]
every_kind = pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.kind)
single_and_pair = pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])


def shape_of(graph: Any, name: str) -> list[int]:
    return next(list(tensor.dims) for tensor in graph.graph.initializer if tensor.name == name)


@every_kind
@single_and_pair
def test_a_row_has_the_same_logits_alone_and_in_a_batch(
    section: WordStudent, pair: bool, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    graph, feed = graph_of(strong_student(section, pair=pair)), ragged(pair=pair)
    together = onnx_logits(graph, feed)

    for row in range(1, len(together)):
        alone = {name: array[row : row + 1] for name, array in feed.items()}
        alone["input_ids"] = alone["input_ids"][:, : feed["lengths"][row]]

        np.testing.assert_allclose(onnx_logits(graph, alone)[0], together[row], atol=1e-5)


@every_kind
@single_and_pair
@pytest.mark.parametrize("garbage", [7, 1_000_000], ids=["a-word", "no-word"])
def test_ids_after_a_rows_length_are_never_used(
    section: WordStudent, pair: bool, garbage: int, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    graph, feed = graph_of(strong_student(section, pair=pair)), ragged(pair=pair)
    dirty = dict(feed)
    for ids, lengths in [("input_ids", "lengths"), ("pair_ids", "pair_lengths")][: 2 if pair else 1]:
        outside = np.arange(feed[ids].shape[1]) >= np.maximum(feed[lengths], 1)[:, None]
        dirty[ids] = np.where(outside, garbage, feed[ids])

    logits = onnx_logits(graph, dirty)

    np.testing.assert_array_equal(logits, onnx_logits(graph, feed))


@every_kind
def test_a_length_of_0_is_read_as_1(section: WordStudent, strong_student: Any, ragged: Any, onnx_logits: Any) -> None:
    graph, feed = graph_of(strong_student(section)), ragged()

    logits = onnx_logits(graph, {**feed, "lengths": np.maximum(feed["lengths"], 1)})

    np.testing.assert_array_equal(logits, onnx_logits(graph, feed))


@every_kind
@pytest.mark.parametrize("dense_size", [0, 16])
def test_the_relu_layer_may_be_omitted(
    section: WordStudent, dense_size: int, strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    network = strong_student(section.model_copy(update={"dense_size": dense_size}))

    logits = onnx_logits(graph_of(network), ragged())

    np.testing.assert_allclose(logits, torch_logits(network, ragged()), atol=1e-5)


@every_kind
def test_both_channels_are_one_table(
    section: WordStudent, strong_student: Any, ragged: Any, torch_logits: Any, onnx_logits: Any
) -> None:
    network = strong_student(section.model_copy(update={"static_channel": True}))

    graph = graph_of(network)

    assert shape_of(graph, EMBEDDINGS) == [50 + 1, 2 * 12]
    assert sum(node.op_type == "Gather" and node.input[0] == EMBEDDINGS for node in graph.graph.node) == 1
    np.testing.assert_allclose(onnx_logits(graph, ragged()), torch_logits(network, ragged()), atol=1e-5)


@every_kind
@single_and_pair
def test_every_constant_is_there_once_and_is_used(section: WordStudent, pair: bool, strong_student: Any) -> None:
    """Whoever loads a graph with an idle constant is warned by onnxruntime."""
    graph = graph_of(strong_student(section, pair=pair)).graph

    constants = [tensor.name for tensor in graph.initializer]

    assert len(set(constants)) == len(constants)
    assert set(constants) <= {name for node in graph.node for name in node.input}


@every_kind
def test_the_file_is_for_every_onnxruntime_we_allow(section: WordStudent, strong_student: Any) -> None:
    graph = graph_of(strong_student(section))

    assert [(opset.domain, opset.version) for opset in graph.opset_import] == [("", OPSET)]
    assert (OPSET, graph.ir_version) == (18, 8)


def test_the_row_after_the_last_word_means_outside() -> None:
    table = np.array([[1, 2], [3, 4]], dtype=np.float32)

    assert one_more_row(table, 0.0).tolist() == [[1, 2], [3, 4], [0, 0]]
