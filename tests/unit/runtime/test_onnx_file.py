from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, TensorProto, helper, load_model, numpy_helper

from limbeck.runtime.onnx_file import GraphNotUnderstood, GraphValue, Node, OnnxFile, graph_of, read_onnx

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
        helper.make_node("Cast", ["t"], ["y"], to=1, domain="com.microsoft", doc_string="why"),
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in (ARRAYS if arrays is None else arrays).items()]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.INT64, ["rows", 3]),
        helper.make_tensor_value_info("长", TensorProto.INT32, ["rows"]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "wide"])]
    graph = helper.make_graph(nodes, "bilstm", inputs, outputs, constants, doc_string="a graph")
    return helper.make_model(graph, producer_name="us", opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def read(model: ModelProto) -> OnnxFile:
    return graph_of(memoryview(model.SerializeToString()))


def test_a_graph_is_read_as_it_was_written() -> None:
    graph = read(model_of())

    assert (graph.name, graph.ir_version, graph.opsets) == ("bilstm", 8, {"": 18})
    assert graph.inputs == [GraphValue("x", "<i8", ("rows", 3)), GraphValue("长", "<i4", ("rows",))]
    assert graph.outputs == [GraphValue("y", "<f4", (1, "wide"))]
    assert graph.nodes == [
        Node("LSTM", ["x", "", "floats"], ["", "h"], {"direction": "bidirectional", "hidden_size": 150}),
        Node("Transpose", ["h"], ["t"], {"perm": [1, 0, -2]}),
        Node("Cast", ["t"], ["y"], {"to": 1}, domain="com.microsoft"),
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
    """Not even floats at an odd address: a large file is in memory once."""
    data = memoryview(model_of().SerializeToString())

    found = graph_of(data).constants[name]

    assert np.shares_memory(found, np.frombuffer(data, dtype=np.int8))
    assert not found.flags.writeable


@pytest.mark.parametrize("folder", ["model_folder", "pair_model_folder"])
def test_an_exported_file_is_read_as_the_onnx_package_reads_it(folder: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(folder) / "model.onnx"

    graph, expected = read_onnx(path), load_model(path).graph

    assert graph.name == expected.name
    assert [value.name for value in graph.inputs] == [value.name for value in expected.input]
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


def with_a_fraction(model: ModelProto) -> None:
    model.graph.node[2].attribute.append(helper.make_attribute("alpha", 0.25))


def of_two_types(model: ModelProto) -> None:
    model.graph.node[2].attribute[0].s = b"1"


def with_an_attribute_twice(model: ModelProto) -> None:
    model.graph.node[2].attribute.append(model.graph.node[2].attribute[0])


def with_a_constant_twice(model: ModelProto) -> None:
    model.graph.initializer.append(model.graph.initializer[1])


def with_a_version_twice(model: ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("", 17))


def with_a_list_for_an_input(model: ModelProto) -> None:
    model.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT


def with_a_size_of_no_kind(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")


def with_settings(model: ModelProto) -> None:
    model.metadata_props.add(key="ort_config", value="{}")


def without_a_graph(model: ModelProto) -> None:
    model.ClearField("graph")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (packed, "a constant has a field 4 that our exports do not write"),
        (elsewhere, "'floats' are not stored in it as raw bytes"),
        (of_strange_numbers, "numbers of the unsupported type 16"),
        (of_another_size, "'floats' is not an array"),
        (of_any_size, "'floats' is not an array"),
        (sparse, "the graph has a field 15"),
        (with_a_function, "the model has a field 25"),
        (with_a_branch, "an attribute has a field 6"),
        (with_a_fraction, "an attribute has a field 2"),
        (of_two_types, "attribute 'to' of an unsupported type"),
        (with_an_attribute_twice, "an attribute 'to' twice"),
        (with_a_constant_twice, "a constant 'floats' twice"),
        (with_a_version_twice, "a version of operators '' twice"),
        (with_a_list_for_an_input, "a type has a field 4"),
        (with_a_size_of_no_kind, "neither a number nor a name"),
        (with_settings, "the model has a field 14"),
        (without_a_graph, "no graph"),
    ],
)
def test_what_our_exports_do_not_hold_is_refused(change: Any, reason: str) -> None:
    model = model_of()
    change(model)

    with pytest.raises(GraphNotUnderstood, match=reason):
        read(model)


def varint(number: int, *, length: int) -> bytes:
    """A number in more bytes than it needs."""
    return bytes(number >> (7 * place) & 0x7F | (0x80 if place < length - 1 else 0) for place in range(length))


def block(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2]) + varint(len(data), length=5) + data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (block(7, b"") + block(7, b""), "the model has its field 7 twice"),  # other readers put the two together
        (block(7, block(2, b"bag") + block(2, b"gab")), "the graph has its field 2 twice"),
        (
            block(7, b"\x15gram"),
            "the graph has a field 2 that our exports do not write",
        ),  # others skip it: a name has another type
        (block(7, b"\x13\x14"), "unsupported wire type 3"),
        (block(7, b"\x10\x01"), "the graph has a field 2 that our exports do not write"),
        (b"\x08" + varint(1 << 64 | 8, length=10), "more than 64 bits"),  # others drop the uppermost
        (block(7, block(2, b"\xff")), "not UTF-8"),
        (block(7, block(5, b"")), "numbers of the unsupported type 0"),
    ],
)
def test_what_other_readers_may_read_in_another_way_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(GraphNotUnderstood, match=reason):
        graph_of(memoryview(data))


def test_numbers_may_be_longer_than_they_need() -> None:
    assert graph_of(memoryview(b"\x08" + varint(8, length=4) + block(7, block(2, b"bag")))).ir_version == 8


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
