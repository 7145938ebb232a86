from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto

from limbeck.export.bilstm_graph import bilstm_graph
from limbeck.models.bilstm import BiLstmForSequenceClassification, bilstm
from limbeck.recipe.student import BiLstm

Feed = dict[str, npt.NDArray[Any]]
every_shape = pytest.mark.parametrize(
    ("pooling", "pair"), [("max", False), ("last", False), ("max", True), ("last", True)]
)


def student(*, pooling: Literal["max", "last"], pair: bool) -> BiLstmForSequenceClassification:
    torch.manual_seed(0)
    section = BiLstm(hidden_size=8, dense_size=16, pooling=pooling)
    network = bilstm(section, vocabulary_size=50, embedding_size=12, labels=["a", "b", "c"], pair=pair)
    network.eval()
    return network


def batch(*, rows: int, pair: bool) -> Feed:
    """Rows of 0 to 11 tokens; those of the second texts are shorter."""
    dice = np.random.default_rng(0)
    lengths = dice.integers(1, 12, rows, dtype=np.int32)
    lengths[0] = 0
    ids = dice.integers(1, 50, (rows, 11)) * (np.arange(11) < lengths[:, None])
    if not pair:
        return {"input_ids": ids, "lengths": lengths}
    pair_lengths = dice.integers(1, 6, rows, dtype=np.int32)
    pair_ids = dice.integers(1, 50, (rows, 5)) * (np.arange(5) < pair_lengths[:, None])
    return {"input_ids": ids, "lengths": lengths, "pair_ids": pair_ids, "pair_lengths": pair_lengths}


def torch_logits(network: BiLstmForSequenceClassification, feed: Feed) -> npt.NDArray[np.float32]:
    arguments = {}
    for ids, lengths, mask in (("input_ids", "lengths", "attention_mask"), ("pair_ids", "pair_lengths", "pair_mask")):
        if ids in feed:
            arguments[ids] = torch.from_numpy(feed[ids])
            inside = np.arange(feed[ids].shape[1]) < feed[lengths][:, None]
            arguments[mask] = torch.from_numpy(inside.astype(np.int64))
    with torch.inference_mode():
        logits: npt.NDArray[np.float32] = network(**arguments).logits.numpy()
    return logits


def onnx_logits(graph: ModelProto, feed: Feed) -> npt.NDArray[np.float32]:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    logits: npt.NDArray[np.float32] = session.run(["logits"], feed)[0]
    return logits


@every_shape
def test_the_graph_says_what_the_student_says(pooling: Literal["max", "last"], pair: bool) -> None:
    network, feed = student(pooling=pooling, pair=pair), batch(rows=20, pair=pair)

    logits = onnx_logits(bilstm_graph(network), feed)

    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-5)


@every_shape
def test_a_row_says_the_same_alone_and_in_a_batch(pooling: Literal["max", "last"], pair: bool) -> None:
    graph, feed = bilstm_graph(student(pooling=pooling, pair=pair)), batch(rows=20, pair=pair)
    together = onnx_logits(graph, feed)

    for row in range(1, 20):
        alone = {name: array[row : row + 1] for name, array in feed.items()}
        alone["input_ids"] = alone["input_ids"][:, : feed["lengths"][row]]

        np.testing.assert_allclose(onnx_logits(graph, alone)[0], together[row], atol=1e-6)


@every_shape
def test_ids_behind_a_rows_length_are_never_looked_at(pooling: Literal["max", "last"], pair: bool) -> None:
    graph, feed = bilstm_graph(student(pooling=pooling, pair=pair)), batch(rows=20, pair=pair)
    outside = np.arange(11) >= np.maximum(feed["lengths"], 1)[:, None]

    logits = onnx_logits(graph, {**feed, "input_ids": np.where(outside, 7, feed["input_ids"])})

    np.testing.assert_array_equal(logits, onnx_logits(graph, feed))


def test_both_texts_of_a_pair_are_read_with_the_same_weights() -> None:
    graph = bilstm_graph(student(pooling="max", pair=True)).graph

    one, other = (node for node in graph.node if node.op_type == "LSTM")

    assert list(one.input[1:4]) == list(other.input[1:4])
    assert len({tensor.name for tensor in graph.initializer}) == len(graph.initializer)


def test_pooling_finds_the_largest_state_even_if_all_are_negative() -> None:
    """With zeros for padding, as onnxruntime leaves them, the largest value of a short row would be 0."""
    network, feed = student(pooling="max", pair=False), batch(rows=20, pair=False)
    with torch.no_grad():
        for lstm in (network.forward_lstm, network.backward_lstm):
            lstm.get_parameter("bias_ih_l0")[16:24] = -5.0  # the cell's new content: every state below zero

    logits = onnx_logits(bilstm_graph(network), feed)

    np.testing.assert_allclose(logits, torch_logits(network, feed), atol=1e-5)
