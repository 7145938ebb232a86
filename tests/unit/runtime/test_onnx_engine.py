"""onnxruntime is never given a graph that it must not be given, and the process goes on."""

import shutil
from pathlib import Path

import onnx
import pytest

import limbeck
from limbeck.artifacts.manifest import Key, write_manifest
from limbeck.errors import ArtifactDamaged


def test_the_model_is_refused_and_the_process_goes_on(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    model = onnx.load_model(folder / "model.onnx")
    (largest,) = [node for node in model.graph.node if node.op_type == "Max"]
    largest.input.append("")
    onnx.save_model(model, folder / "model.onnx")
    write_manifest(folder, kind="model", key=Key(section={}, inputs={}))

    with pytest.raises(ArtifactDamaged, match="a Max of its network lacks an input"):
        limbeck.load(folder)
