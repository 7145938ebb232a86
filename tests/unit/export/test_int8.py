from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto, numpy_helper

from limbeck.export.bilstm_graph import bilstm_graph
from limbeck.export.int8 import WEIGHT_LIMIT, int8_graph, quantised
from limbeck.models.bilstm import bilstm
from limbeck.recipe.student import BiLstm


def graph(*, pair: bool = False, words: int = 50) -> ModelProto:
    torch.manual_seed(0)
    section = BiLstm(hidden_size=16, dense_size=16)
    return bilstm_graph(bilstm(section, vocabulary_size=words, embedding_size=24, labels=["a", "b"], pair=pair).eval())


def logits_of(model: ModelProto, *, pair: bool) -> npt.NDArray[np.float32]:
    dice = np.random.default_rng(0)
    feed: dict[str, npt.NDArray[Any]] = {
        "input_ids": dice.integers(1, 50, (10, 6)),
        "lengths": dice.integers(1, 7, 10, dtype=np.int32),
    }
    if pair:
        feed |= {"pair_ids": feed["input_ids"][::-1].copy(), "pair_lengths": feed["lengths"][::-1].copy()}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    logits: npt.NDArray[np.float32] = session.run(["logits"], feed)[0]
    return logits


def test_hand_worked_values() -> None:
    array = np.array([[0.5, -1.0, 0.25], [0.0, 0.0, 0.0], [3.0, 6.0, -6.0]], dtype=np.float32)

    integers, scale = quantised(array, limit=4)

    assert integers.tolist() == [[2, -4, 1], [0, 0, 0], [2, 4, -4]]
    assert scale.tolist() == [[0.25], [1.0], [1.5]]


def test_no_value_moves_by_more_than_half_a_step() -> None:
    array = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)

    integers, scale = quantised(array, limit=127)

    assert np.all(np.abs(integers * scale - array) <= scale * 0.5001)


@pytest.mark.parametrize("pair", [False, True])
def test_the_int8_graph_says_nearly_what_the_fp32_graph_says(pair: bool) -> None:
    whole = logits_of(graph(pair=pair), pair=pair)

    rounded = logits_of(int8_graph(graph(pair=pair)), pair=pair)

    assert 0 < np.abs(rounded - whole).max() < 0.02 * np.abs(whole).max()


def test_weights_keep_to_seven_bits_so_that_no_processor_overflows() -> None:
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in int8_graph(graph()).graph.initializer}

    assert arrays["lstm.W"].dtype == arrays["lstm.R"].dtype == np.int8
    assert WEIGHT_LIMIT == 63
    assert max(np.abs(arrays[name]).max() for name in ("lstm.W", "lstm.R")) == WEIGHT_LIMIT


def test_word_vectors_take_a_byte_a_number() -> None:
    small, large = (int8_graph(graph(words=words)).ByteSize() for words in (100, 1100))

    assert large - small == pytest.approx(1000 * (24 + 4), rel=0.01)  # the row's integers, and its scale
