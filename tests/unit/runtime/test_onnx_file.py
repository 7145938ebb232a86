from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, TensorProto, helper, load_model, numpy_helper

from limbeck.runtime.onnx_file import GraphNotUnderstood, OnnxFile, graph_of, read_onnx

ARRAYS: dict[str, npt.NDArray[Any]] = {
    "bytes": np.arange(-3, 4, dtype=np.int8),  # seven of them: what follows does not lie at a multiple of four
    "floats": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4),
    "numbers": np.array([2**40, -1]),
    "one": np.array(7, dtype=np.int32),
    "nothing": np.zeros((0, 3), dtype=np.float32),
    "halves": np.array([0.5], dtype=np.float16),
    "choices": np.array([True, False]),
}


def model_of(arrays: dict[str, npt.NDArray[Any]] | None = None) -> ModelProto:
    nodes = [
        helper.make_node("LSTM", ["x", "", "floats"], ["", "h"], name="n", direction="bidirectional", hidden_size=150),
        helper.make_node("Transpose", ["h"], ["t"], perm=[1, 0, -2]),
        helper.make_node("LeakyRelu", ["t"], ["y"], alpha=0.25, domain="com.microsoft", doc_string="why"),
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in (ARRAYS if arrays is None else arrays).items()]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.INT64, ["rows", 3]),
        helper.make_tensor_value_info("长", TensorProto.INT32, ["rows"]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "bilstm", inputs, outputs, constants, doc_string="a graph")
    return helper.make_model(graph, producer_name="us", opset_imports=[helper.make_opsetid("", 18)])


def read(model: ModelProto) -> OnnxFile:
    return graph_of(memoryview(model.SerializeToString()))


def test_a_graph_is_read_as_it_was_written() -> None:
    graph = read(model_of())

    assert (graph.name, graph.inputs) == ("bilstm", ["x", "长"])
    assert [node.operator for node in graph.nodes] == ["LSTM", "Transpose", "LeakyRelu"]
    assert (graph.nodes[0].inputs, graph.nodes[0].outputs) == (["x", "", "floats"], ["", "h"])
    assert [dict(node.attributes) for node in graph.nodes] == [
        {"direction": "bidirectional", "hidden_size": 150},
        {"perm": [1, 0, -2]},
        {"alpha": 0.25},
    ]


def test_constants_are_the_numbers_that_were_written() -> None:
    graph = read(model_of())

    assert list(graph.constants) == list(ARRAYS)
    for name, array in ARRAYS.items():
        found = graph.constants[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("name", ["bytes", "floats"])
def test_constants_are_not_copied(name: str) -> None:
    """Not even floats at an odd address: a large file stands in memory once."""
    data = memoryview(model_of().SerializeToString())

    found = graph_of(data).constants[name]

    assert np.shares_memory(found, np.frombuffer(data, dtype=np.int8))
    assert not found.flags.writeable


@pytest.mark.parametrize("folder", ["model_folder", "pair_model_folder", "framed_folder"])
def test_an_exported_file_is_read_as_the_onnx_package_reads_it(folder: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(folder) / "model.onnx"

    graph, expected = read_onnx(path), load_model(path).graph

    assert (graph.name, graph.inputs) == (expected.name, [value.name for value in expected.input])
    assert [(node.operator, node.inputs, node.outputs) for node in graph.nodes] == [
        (node.op_type, list(node.input), list(node.output)) for node in expected.node
    ]
    assert list(graph.constants) == [tensor.name for tensor in expected.initializer]
    for tensor in expected.initializer:
        np.testing.assert_array_equal(graph.constants[tensor.name], numpy_helper.to_array(tensor))


def packed(model: ModelProto) -> None:
    model.graph.initializer[1].ClearField("raw_data")
    model.graph.initializer[1].float_data.extend([0.0] * 12)


def elsewhere(model: ModelProto) -> None:
    model.graph.initializer[1].data_location = TensorProto.EXTERNAL


def of_strange_numbers(model: ModelProto) -> None:
    model.graph.initializer[1].data_type = TensorProto.BFLOAT16


def of_another_size(model: ModelProto) -> None:
    model.graph.initializer[1].dims[0] = 4


def of_any_size(model: ModelProto) -> None:
    model.graph.initializer[1].dims[0] = -1


def sparse(model: ModelProto) -> None:
    model.graph.sparse_initializer.add()


def with_a_function(model: ModelProto) -> None:
    model.functions.add().name = "own"


def with_a_branch(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("If", ["c"], ["z"], then_branch=helper.make_graph([], "t", [], [])))


def without_a_graph(model: ModelProto) -> None:
    model.ClearField("graph")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (packed, "values of a constant are not stored in it as raw bytes"),
        (elsewhere, "are not stored in it as raw bytes"),
        (of_strange_numbers, "'floats' is of the unsupported type 16"),
        (of_another_size, "'floats' is not an array"),
        (of_any_size, "'floats' is not an array"),
        (sparse, "sparse"),
        (with_a_function, "functions of its own"),
        (with_a_branch, "attribute 'then_branch'"),
        (without_a_graph, "0 graphs"),
    ],
)
def test_what_our_exports_do_not_hold_is_refused(change: Any, reason: str) -> None:
    model = model_of()
    change(model)

    with pytest.raises(GraphNotUnderstood, match=reason):
        read(model)


def test_a_file_that_ends_too_early_is_refused() -> None:
    data = memoryview(model_of().SerializeToString())

    for end in range(1, len(data)):
        try:
            graph_of(data[:end])
        except GraphNotUnderstood:
            continue
        assert end > len(data) - 10, "only the version behind the graph may be missing"


def test_no_damage_is_worse_than_a_refusal() -> None:
    dice = np.random.default_rng(0)
    whole = model_of().SerializeToString()

    refused = 0
    for _ in range(3_000):
        damaged = bytearray(whole)
        damaged[dice.integers(len(whole))] = dice.integers(256)
        try:
            graph_of(memoryview(damaged))
        except GraphNotUnderstood:
            refused += 1

    assert refused > 500
