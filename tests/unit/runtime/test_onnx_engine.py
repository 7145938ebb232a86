"""onnxruntime is never given a graph that is known to crash it."""

import shutil
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

import limbeck
from limbeck.artifacts.manifest import Key, write_manifest
from limbeck.errors import ArtifactDamaged
from limbeck.runtime.onnx_engine import CRASHING, fault_of_inputs


def model_of(*nodes: NodeProto) -> ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows"]) for name in "xy"]
    return helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]))


def saved(model: ModelProto, folder: Path) -> Path:
    onnx.save_model(model, folder / "model.onnx")
    return folder / "model.onnx"


def branch(node: NodeProto) -> ModelProto:
    inner = helper.make_graph([node], "inner", [], [])
    return model_of(helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner))


def function(node: NodeProto) -> ModelProto:
    model = model_of(helper.make_node("Own", ["x"], ["y"], domain="own"))
    model.functions.append(helper.make_function("own", "Own", ["x"], ["y"], [node], []))
    return model


@pytest.mark.parametrize("operator", CRASHING)
@pytest.mark.parametrize("around", [model_of, branch, function])
def test_a_missing_input_is_found_wherever_it_is(around: object, operator: str, tmp_path: Path) -> None:
    assert callable(around)
    lacking, whole = (helper.make_node(operator, ["x", name], ["y"]) for name in ("", "x"))

    assert fault_of_inputs(saved(around(lacking), tmp_path)) == f"a {operator} of its network lacks an input"
    assert fault_of_inputs(saved(around(whole), tmp_path)) is None


def test_inputs_that_may_be_missing_are_none_of_its_business(tmp_path: Path) -> None:
    clip = helper.make_node("Clip", ["x", "", "x"], ["y"])

    assert fault_of_inputs(saved(model_of(clip), tmp_path)) is None


@pytest.mark.parametrize(
    ("data", "fault"), [(b"", "it is empty"), (b"\x3b\x3c", "wire type 3"), (b"\x3a\x7f", "in the middle of a field")]
)
def test_what_is_no_graph_is_a_fault(data: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(data)

    assert fault in str(fault_of_inputs(tmp_path / "model.onnx"))


def test_the_model_is_refused_and_the_process_goes_on(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    model = onnx.load_model(folder / "model.onnx")
    (largest,) = [node for node in model.graph.node if node.op_type == "Max"]
    largest.input.append("")
    saved(model, folder)
    write_manifest(folder, kind="model", key=Key(section={}, inputs={}))

    with pytest.raises(ArtifactDamaged, match="a Max of its network lacks an input"):
        limbeck.load(folder)
