from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import ModelProto, numpy_helper

from limbeck.export.graphs import graph_of
from limbeck.export.int8 import WEIGHT_LIMIT, quantised
from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.models.students import word_student
from limbeck.recipe.student import Bag, BiLstm, TextCnn, WordStudent

LSTM, GRU = BiLstm(hidden_size=16, dense_size=16), BiLstm(hidden_size=16, dense_size=16, cell="gru")
TEXTCNN, BAG = TextCnn(kind="textcnn", windows=[2, 3], filters=12), Bag(kind="bag", dense_size=16)
DEEP = BiLstm(hidden_size=16, layers=2, pooling="attention", static_channel=True)
SECTIONS: dict[str, WordStudent] = {"lstm": LSTM, "gru": GRU, "deep": DEEP, "textcnn": TEXTCNN, "bag": BAG}
every_kind = pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
without_rounded_states = pytest.mark.parametrize("section", [GRU, BAG], ids=["gru", "bag"])
single_and_pair = pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])


def graph(section: WordStudent, *, pair: bool = False, words: int = 50) -> ModelProto:
    torch.manual_seed(0)
    return graph_of(word_student(section, vocabulary_size=words, embedding_size=24, labels=["a", "b"], pair=pair))


def int8(model: ModelProto) -> ModelProto:
    """The int8 form of its kind of student."""
    small: ModelProto = resolved(STUDENT_KINDS[model.graph.name].int8)(model)
    return small


def arrays_of(model: ModelProto) -> dict[str, Any]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def test_hand_worked_values() -> None:
    array = np.array([[0.5, -1.0, 0.25], [0.0, 0.0, 0.0], [3.0, 6.0, -6.0]], dtype=np.float32)

    integers, scale = quantised(array, limit=4)

    assert integers.tolist() == [[2, -4, 1], [0, 0, 0], [2, 4, -4]]
    assert scale.tolist() == [[0.25], [1.0], [1.5]]


def test_no_value_moves_by_more_than_half_a_step() -> None:
    array = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)

    integers, scale = quantised(array, limit=127)

    assert np.all(np.abs(integers * scale - array) <= scale * 0.5001)


@every_kind
@single_and_pair
def test_the_int8_graph_has_nearly_the_logits_of_the_fp32_graph(
    section: WordStudent, pair: bool, ragged: Any, onnx_logits: Any
) -> None:
    whole = onnx_logits(graph(section, pair=pair), ragged(pair=pair))

    rounded = onnx_logits(int8(graph(section, pair=pair)), ragged(pair=pair))

    assert 0 < np.abs(rounded - whole).max() < 0.02 * np.abs(whole).max()


@every_kind
def test_a_strong_student_keeps_its_labels(
    section: WordStudent, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    whole = onnx_logits(graph_of(strong_student(section)), ragged())

    rounded = onnx_logits(int8(graph_of(strong_student(section))), ragged())

    assert (rounded.argmax(axis=1) == whole.argmax(axis=1)).mean() >= 0.95


@every_kind
def test_the_file_takes_a_third_at_most(section: WordStudent) -> None:
    whole = graph(section, words=5000)

    assert int8(whole).ByteSize() < whole.ByteSize() / 3


@every_kind
@single_and_pair
def test_ids_after_a_rows_length_do_not_change_the_scale(
    section: WordStudent, pair: bool, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    network, feed = strong_student(section, pair=pair), ragged(pair=pair)
    with torch.no_grad():
        network.embeddings.weight[7] = 100.0
    feed["input_ids"][feed["input_ids"] == 7] = 8
    outside = np.arange(feed["input_ids"].shape[1]) >= np.maximum(feed["lengths"], 1)[:, None]
    model = int8(graph_of(network))

    logits = onnx_logits(model, {**feed, "input_ids": np.where(outside, 7, feed["input_ids"])})

    np.testing.assert_array_equal(logits, onnx_logits(model, feed))


@without_rounded_states
def test_where_no_states_are_rounded_a_row_has_the_same_logits_alone_and_in_a_batch(
    section: WordStudent, strong_student: Any, ragged: Any, onnx_logits: Any
) -> None:
    model, feed = int8(graph_of(strong_student(section))), ragged()
    together = onnx_logits(model, feed)

    for row in range(len(together)):
        alone = {name: array[row : row + 1] for name, array in feed.items()}

        np.testing.assert_allclose(onnx_logits(model, alone)[0], together[row], atol=1e-5)


@pytest.mark.parametrize(
    ("section", "names"),
    [
        (LSTM, ["level_0.W", "level_0.R"]),
        (DEEP, ["level_0.W", "level_0.R", "level_1.W", "level_1.R", "attention.weight"]),
        (TEXTCNN, ["filters"]),
    ],
    ids=["lstm", "deep", "textcnn"],
)
def test_weights_of_integer_products_keep_to_seven_bits_so_that_no_processor_overflows(
    section: WordStudent, names: list[str]
) -> None:
    arrays = arrays_of(int8(graph(section)))

    assert WEIGHT_LIMIT == 63
    for name in names:
        assert arrays[name].dtype == np.int8
        assert np.abs(arrays[name]).max() == WEIGHT_LIMIT


def test_weights_of_a_gru_become_floats_on_loading_and_not_for_every_batch(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # the least that folds
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    model = int8(graph(GRU, pair=True))

    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    assert {arrays_of(model)[f"level_0.{name}.int8"].dtype for name in "WR"} == {np.dtype(np.int8)}
    loaded = onnx.load(tmp_path / "loaded.onnx")
    read = {node.input[1] for node in loaded.graph.node if node.op_type == "GRU"}
    assert {arrays_of(loaded)[name].dtype for name in read} == {np.dtype(np.float32)}


@every_kind
def test_word_vectors_take_a_byte_a_number(section: WordStudent) -> None:
    small, large = (int8(graph(section, words=words)).ByteSize() for words in (100, 1100))
    width = 48 if section.static_channel else 24
    weight = 4 if section is BAG else 0

    assert large - small == pytest.approx(1000 * (width + 4 + weight), rel=0.01)  # the row's integers, and its scale
