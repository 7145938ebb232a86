"""Features: the tensor that the last layer reads, the same everywhere; and distances that see another kind of text."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnx
import pytest

from limbeck.artifacts.dev_sketch import MOST_DIRECTIONS, QUANTILES, is_sketch, read_sketch
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.classifier import load
from limbeck.runtime.drift.features import (
    directions,
    distances,
    feature_name,
    feature_reader,
    feature_sketch,
    with_output,
)
from limbeck.runtime.drift.sketch import dev_sketch

TEXTS = ["gorgeous film", "dreadful", "the story of a film the story of a film", "a scene"]


def test_features_are_what_the_last_layer_reads(model_folder: Path) -> None:
    model = ModelFolder(model_folder)
    graph = onnx.load(model.graph)
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.graph.initializer}
    reader = feature_reader(model, model.facts())
    assert reader is not None

    features = reader.features(TEXTS)

    (last,) = [node for node in graph.graph.node if "logits" in node.output]
    weight, bias = (constants[name] for name in last.input[1:])
    np.testing.assert_allclose(features @ weight.T + bias, load(model_folder).logits(TEXTS), atol=1e-4)
    np.testing.assert_allclose(features[[2]], reader.features(TEXTS[2:3]), atol=1e-5)


def test_the_product_is_found_behind_sums_and_casts() -> None:
    node = onnx.helper.make_node
    nodes = [
        node("Relu", ["x"], ["states"]),
        node("MatMul", ["states", "w"], ["product"]),
        node("Cast", ["product"], ["cast"], to=1),
        node("Add", ["bias", "cast"], ["logits"]),
    ]

    def name_in(nodes: list[onnx.NodeProto]) -> str | None:
        model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "toy", [], []))
        return feature_name(memoryview(model.SerializeToString()))

    assert name_in(nodes) == "states"
    assert name_in([node("Gemm", ["x", "w"], ["logits"])]) is None
    assert name_in([node("Relu", ["x"], ["other"])]) is None
    assert feature_name(memoryview(b"\xff\xff")) is None


def test_one_more_output_and_nothing_else_changes(model_folder: Path) -> None:
    graph = (model_folder / "model.onnx").read_bytes()
    before, after = onnx.load_from_string(graph), onnx.load_from_string(with_output(graph, "x" * 200))

    assert [one.name for one in after.graph.output] == ["logits", "x" * 200]
    del after.graph.output[-1]
    assert before == after


def test_directions_are_the_same_everywhere_and_keep_lengths() -> None:
    signs = directions(300)

    assert signs.shape == (300, MOST_DIRECTIONS)
    assert (signs[:3, :4] > 0).astype(int).tolist() == [[0, 0, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]]
    assert directions(3).tolist() == np.eye(3).tolist()
    rows = np.random.default_rng(0).normal(size=(500, 300))
    lengths = np.linalg.norm(rows @ signs, axis=1) ** 2 / MOST_DIRECTIONS * 300
    assert lengths.mean() == pytest.approx(300, rel=0.05)


def test_distances_are_about_one_in_training_and_grow_away_from_it() -> None:
    dice = np.random.default_rng(0)
    mixing = dice.normal(size=(40, 40))
    trained, dev, far = (dice.normal(size=(rows, 40)) @ mixing for rows in (3000, 500, 500))

    sketch = feature_sketch(trained, dev)

    assert sketch is not None
    assert (sketch.width, len(sketch.center), len(sketch.distances.quantiles)) == (40, MOST_DIRECTIONS, QUANTILES)
    assert sketch.distances.mean == pytest.approx(1, abs=0.05)
    assert distances(sketch, far + 3 * trained.std(axis=0)).mean() > 1.5
    assert feature_sketch(np.ones((5, 3)), np.ones((2, 3))) is None


def test_a_sketch_is_read_back_and_a_wrong_one_is_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 30))
    kept = dev_sketch(["a film"], None, given=np.array([[True]]), features=feature_sketch(rows, rows))
    written = json.loads(json.dumps(asdict(kept)))

    assert is_sketch(written)
    assert read_sketch(written) == kept
    old = {key: value for key, value in written.items() if key != "features"}
    assert is_sketch(old)
    assert read_sketch(old).features is None
    for key, wrong in (("width", 0), ("width", 23), ("center", [1.0]), ("spread", ["x"] * 300), ("distances", None)):
        assert not is_sketch({**written, "features": {**written["features"], key: wrong}})
    assert not is_sketch({**written, "features": {**written["features"], "spread": [float("nan")] * 300}})


def test_every_pair_is_read_as_the_model_reads_it(pair_model_folder: Path) -> None:
    model = ModelFolder(pair_model_folder)
    reader = feature_reader(model, model.facts())
    assert reader is not None

    features = reader.features([("gorgeous", "film"), ("the", "story of a film")])

    assert features.shape[0] == 2
    assert np.abs(features[0] - features[1]).max() > 0
