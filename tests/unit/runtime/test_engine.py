"""Which engine runs a model, and what happens where the one asked for cannot."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.errors import ArtifactDamaged, EngineUnusable
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.native_engine import NativeEngine

ToyRows = tuple[tuple[str, str], ...]
ROWS = ["a gorgeous film", "a dreadful story"]


@pytest.fixture
def native() -> ModuleType:
    """The extension, where it was built."""
    module: ModuleType = pytest.importorskip("limbeck.runtime._native")
    return module


def changed(folder: Path, out: Path, change: Callable[[ModelProto], object]) -> ModelFolder:
    """A copy of a model whose graph is another."""
    shutil.copytree(folder, out)
    graph = onnx.load_model(out / "model.onnx")
    change(graph)
    onnx.save_model(graph, out / "model.onnx")
    return ModelFolder(out)


def with_one_node_more(model: ModelProto) -> None:
    """The logits, doubled."""
    last = model.graph.node[-1]
    last.output[0] = "half"
    model.graph.node.append(helper.make_node("Add", ["half", "half"], ["logits"]))


def with_a_constant_renamed(model: ModelProto) -> None:
    for tensor in model.graph.initializer:
        tensor.name = tensor.name.replace("level_0.R", "R")
    for node in model.graph.node:
        node.input[:] = [name.replace("level_0.R", "R") for name in node.input]


def with_constants_that_are_numbers_of_another_field(model: ModelProto) -> None:
    for tensor in model.graph.initializer:
        if tensor.name == "classifier.bias":
            values = numpy_helper.to_array(tensor).tolist()
            tensor.ClearField("raw_data")
            tensor.float_data.extend(values)


STRANGE_BUT_SOUND = [
    with_one_node_more,
    with_a_constant_renamed,
    with_constants_that_are_numbers_of_another_field,
]


def test_the_quicker_engine_is_taken_where_it_can_run_the_model(model_folder: Path, native: ModuleType) -> None:
    assert load(model_folder).engine == f"native {native.level()}"
    assert load(model_folder, engine="native").engine == f"native {native.level()}"


def test_onnxruntime_is_taken_where_it_is_asked_for(model_folder: Path) -> None:
    assert load(model_folder, engine="onnx").engine == "onnxruntime"


@pytest.mark.parametrize("folder", ["framed_folder", "framed_pair_folder"])
def test_transformers_are_run_by_onnxruntime(folder: str, request: pytest.FixtureRequest) -> None:
    model: Path = request.getfixturevalue(folder)

    assert load(model).engine == "onnxruntime"
    with pytest.raises(EngineUnusable, match="students that read words, not those of the kind 'transformer'"):
        load(model, engine="native")


def test_an_engine_nobody_knows_is_refused(model_folder: Path) -> None:
    unknown: Any = "openvino"

    with pytest.raises(ValueError, match="one of auto, native, onnx, not 'openvino'"):
        load(model_folder, engine=unknown)


def test_where_the_extension_is_missing_onnxruntime_runs_everything(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "limbeck.runtime._native", None)
    monkeypatch.delitem(sys.modules, "limbeck.runtime.native_graph", raising=False)
    monkeypatch.delattr("limbeck.runtime._native", raising=False)

    assert load(model_folder).engine == "onnxruntime"
    with pytest.raises(EngineUnusable, match="not part of this installation") as refusal:
        load(model_folder, engine="native")
    assert "`onnx`" in str(refusal.value)


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("change", STRANGE_BUT_SOUND)
def test_a_graph_that_is_not_ours_is_run_as_it_stands(
    model_folder: Path, tmp_path: Path, change: Callable[[ModelProto], object]
) -> None:
    model = changed(model_folder, tmp_path / "model", change)

    assert Classifier(model).engine == "onnxruntime"
    with pytest.raises(EngineUnusable, match=r"does not understand .*model\.onnx"):
        Classifier(model, engine="native")
    factor = 2 if change is with_one_node_more else 1
    np.testing.assert_allclose(Classifier(model).logits(ROWS), factor * load(model_folder).logits(ROWS), atol=1e-5)


def with_other_logits(model: ModelProto) -> None:
    """A factor of the last product, which turns every answer round."""
    model.graph.node[-1].attribute.append(helper.make_attribute("alpha", -1.0))


def with_clipped_gates(model: ModelProto) -> None:
    (lstm,) = [node for node in model.graph.node if node.op_type == "LSTM"]
    lstm.attribute.append(helper.make_attribute("clip", 0.1))


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("change", [with_other_logits, with_clipped_gates])
def test_an_attribute_that_our_exports_do_not_have_is_not_overlooked(
    model_folder: Path, tmp_path: Path, change: Callable[[ModelProto], object]
) -> None:
    model = changed(model_folder, tmp_path / "model", change)

    found, right = Classifier(model).logits(ROWS), Classifier(model, engine="onnx").logits(ROWS)

    np.testing.assert_allclose(found, right, atol=1e-5)
    assert np.abs(right - load(model_folder).logits(ROWS)).max() > 0.1
    with pytest.raises(EngineUnusable, match="does not understand"):
        Classifier(model, engine="native")


@pytest.mark.usefixtures("native")
def test_weights_of_sizes_that_do_not_fit_are_refused(model_folder: Path, tmp_path: Path) -> None:
    def narrower(model: ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.name == "level_0.R":
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor)[:, :, :-1], tensor.name))

    model = changed(model_folder, tmp_path / "model", narrower)

    with pytest.raises(EngineUnusable, match="does not understand"):
        Classifier(model, engine="native")


@pytest.mark.usefixtures("native")
def test_a_card_with_more_labels_than_the_graph_has_classes_is_refused(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    card = (folder / "model.json").read_text().replace('"neutral",', '"neutral", "mixed",')
    (folder / "model.json").write_text(card)

    with pytest.raises(EngineUnusable, match=r"3 classes, and model\.json names 4"):
        Classifier(ModelFolder(folder), engine="native")


@pytest.mark.parametrize(("engine", "loaded"), [("native", "['limbeck.runtime._native']"), ("onnx", "['onnxruntime']")])
def test_an_engine_loads_nothing_of_the_other(model_folder: Path, engine: str, loaded: str) -> None:
    if engine == "native":
        pytest.importorskip("limbeck.runtime._native")
    code = (
        "import sys, limbeck\n"
        "print(limbeck.load(sys.argv[1], engine=sys.argv[2]).predict(['a gorgeous film']))\n"
        "print([name for name in ('onnxruntime', 'limbeck.runtime._native') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(model_folder), engine], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == loaded


@pytest.mark.usefixtures("native")
def test_a_card_of_pairs_for_a_graph_of_single_texts_is_left_to_onnxruntime(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    card = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(card | {"pair": True}))

    with pytest.raises(EngineUnusable, match=r"reads one text a row, and model\.json says otherwise"):
        Classifier(ModelFolder(folder), engine="native")


def with_fewer_words(model: ModelProto) -> None:
    """Two of those that the tokenizer knows are missing."""
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if tensor.name == "embeddings":
            tensor.CopyFrom(numpy_helper.from_array(np.delete(array, [-2, -3], axis=0), tensor.name))
        elif tensor.name == "outside":
            tensor.CopyFrom(numpy_helper.from_array(array - 2, tensor.name))


@pytest.mark.usefixtures("native")
def test_a_tokenizer_that_knows_more_words_is_left_to_onnxruntime(model_folder: Path, tmp_path: Path) -> None:
    model = changed(model_folder, tmp_path / "model", with_fewer_words)

    assert Classifier(model).engine == "onnxruntime"
    with pytest.raises(EngineUnusable, match=r"it knows \d+ words, and the tokenizer \d+"):
        Classifier(model, engine="native")


@pytest.mark.usefixtures("native")
def test_an_id_that_the_network_does_not_have_is_damage(model_folder: Path) -> None:
    model = ModelFolder(model_folder)
    engine = NativeEngine(model, model.facts(), threads=1)

    with pytest.raises(ArtifactDamaged, match="does not fit to its tokenizer: no such word"):
        engine.logits([[[1, engine.words]]])


def with_a_row_less(model: ModelProto) -> None:
    """The first row of a batch is dropped, if there are several."""
    last = model.graph.node[-1]
    last.output[0] = "all"
    constants = {"last": -1, "end": 1 << 40, "axis": 0}
    model.graph.initializer.extend(numpy_helper.from_array(np.array([v]), name) for name, v in constants.items())
    model.graph.node.append(helper.make_node("Slice", ["all", "last", "end", "axis"], ["logits"]))


def test_a_network_with_another_number_of_answers_than_rows_is_damaged(model_folder: Path, tmp_path: Path) -> None:
    model = Classifier(changed(model_folder, tmp_path / "model", with_a_row_less))

    assert model.logits(ROWS[:1]).shape == (1, 3)
    with pytest.raises(ArtifactDamaged, match=r"outputs of the shape \(1, 3\) for 2 rows and 3 labels"):
        model.logits(ROWS)


@pytest.mark.usefixtures("native")
def test_where_no_kernels_are_for_the_processor_onnxruntime_is_the_faster_one(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limbeck.runtime._native.level", lambda: "scalar")

    assert load(model_folder).engine == "onnxruntime"
    assert load(model_folder, engine="native").engine == "native scalar"
