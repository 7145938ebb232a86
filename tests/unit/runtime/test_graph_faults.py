"""onnxruntime is never given a graph that would crash it, that may never end, or that reads other files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.graph_faults import CRASHING, ELSEWHERE, fault_of_graph


def model_of(*nodes: NodeProto) -> ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows"]) for name in "xy"]
    return helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]))


def saved(model: ModelProto, folder: Path) -> Path:
    onnx.save_model(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("operator", CRASHING)
def test_a_missing_input_is_found(operator: str, tmp_path: Path) -> None:
    lacking, whole = (helper.make_node(operator, ["x", name], ["y"]) for name in ("", "x"))

    assert fault_of_graph(saved(model_of(lacking), tmp_path)) == f"a {operator} of its network lacks an input"
    assert fault_of_graph(saved(model_of(whole), tmp_path)) is None


def test_inputs_that_may_be_missing_are_none_of_its_business(tmp_path: Path) -> None:
    clip = helper.make_node("Clip", ["x", "", "x"], ["y"])

    assert fault_of_graph(saved(model_of(clip), tmp_path)) is None


@pytest.mark.parametrize(
    ("operator", "bodies"), [("If", ["then_branch", "else_branch"]), ("Loop", ["body"]), ("Scan", ["body"])]
)
def test_graphs_inside_nodes_are_refused(operator: str, bodies: list[str], tmp_path: Path) -> None:
    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "inner", [], [])
    node = helper.make_node(operator, ["x"], ["y"], **dict.fromkeys(bodies, inner))

    assert (
        fault_of_graph(saved(model_of(node), tmp_path))
        == "a node of its network has a graph inside it, as no model has"
    )


def test_functions_of_a_network_are_refused(tmp_path: Path) -> None:
    model = model_of(helper.make_node("Own", ["x"], ["y"], domain="own"))
    body = [helper.make_node("Relu", ["x"], ["y"])]
    model.functions.append(helper.make_function("own", "Own", ["x"], ["y"], body, []))

    assert fault_of_graph(saved(model, tmp_path)) == "its network has functions of its own, as no model has"


def elsewhere(tensor: TensorProto) -> TensorProto:
    """Stored in a file beside the model."""
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret.bin")
    return tensor


def with_constant(tensor: TensorProto) -> ModelProto:
    model = model_of(helper.make_node("Add", ["x", "c"], ["y"]))
    model.graph.initializer.append(tensor)
    return model


def with_sparse_constant(tensor: TensorProto) -> ModelProto:
    model = model_of(helper.make_node("Add", ["x", "c"], ["y"]))
    places = numpy_helper.from_array(np.array([0]))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor, places, [1]))
    return model


def with_attribute(tensor: TensorProto) -> ModelProto:
    return model_of(helper.make_node("Constant", [], ["y"], value=tensor))


@pytest.mark.parametrize("around", [with_constant, with_sparse_constant, with_attribute])
def test_constants_in_other_files_are_refused(around: object, tmp_path: Path) -> None:
    assert callable(around)
    constant = numpy_helper.from_array(np.ones(1, dtype=np.float32), "c")
    model = around(elsewhere(constant))

    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())

    assert fault_of_graph(tmp_path / "model.onnx") == ELSEWHERE


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "it is empty"),
        (b"\x3b\x3c", "wire type 3"),
        (b"\x3a\x7f", "in the middle of a field"),
        (b"\xba\x80\x80\x80\x10\x00", "more than 32 bits"),
    ],
)
def test_what_is_no_graph_is_a_fault(data: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(data)

    assert fault in str(fault_of_graph(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"kind": "textcnn"}, "its network is not of the kind textcnn"),
        ({"precision": "int8"}, "its network is not in int8"),
    ],
)
def test_the_kind_and_the_precision_are_those_of_the_graph(
    model_folder: Path, change: dict[str, Any], fault: str | None
) -> None:
    facts: ModelFacts = ModelFolder(model_folder).facts()

    assert fault_of_graph(model_folder / "model.onnx", replace(facts, **change)) == fault
