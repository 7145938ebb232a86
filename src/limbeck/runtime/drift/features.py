"""Features of texts, i.e. what a model's last layer reads, and how far they are from those of its training rows."""

import math
from collections.abc import Iterator, Sequence
from hashlib import shake_256
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.dev_sketch import MOST_DIRECTIONS, FeatureSketch
from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.errors import ArtifactDamaged
from limbeck.runtime.batches import length_batches
from limbeck.runtime.drift.sketch import Floats, quantile_sketch
from limbeck.runtime.graph_faults import fault_of_graph
from limbeck.runtime.inputs import Inputs, inputs_of
from limbeck.runtime.onnx_file import BLOCK, GraphNotUnderstood, Message, wire_fields
from limbeck.runtime.row import Row

PRODUCTS = ("Gemm", "MatMul", "MatMulInteger", "FusedMatMul")
DIGITS = 4  # significant ones of what is kept: a profile is small
SHRINKAGE = 1e-3  # of the mean variance, added to that of every direction: few rows do not fill all of them
MODEL_GRAPH, GRAPH_NODE, GRAPH_OUTPUT, NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR, VALUE_NAME = 7, 1, 12, 1, 2, 4, 1


class FeatureReader:
    """Asks a network for what its last layer reads, with onnxruntime."""

    def __init__(self, model: ModelFolder, facts: ModelFacts, *, name: str) -> None:
        """Raises ArtifactDamaged for a graph that onnxruntime must not be given."""
        from limbeck.runtime.onnx_engine import opened  # importing onnxruntime takes longer than loading a model

        if fault := fault_of_graph(model.graph, facts):
            raise ArtifactDamaged(folder=model.folder, faults=[fault])
        self._name, self._inputs = name, inputs_of(model, facts)
        self._session = opened(with_output(model.graph.read_bytes(), name))
        self._wanted = [value.name for value in self._session.get_inputs()]

    def features(self, rows: Sequence[Row]) -> Floats:
        """(rows, width), in the order of the rows; there is at least one."""
        inputs: Inputs = self._inputs
        columns = inputs.encode(list(rows))
        found: list[tuple[Any, npt.NDArray[Any]]] = []
        for batch in length_batches(inputs.lengths(columns)):
            feed = inputs.feed([[column[row] for row in batch] for column in columns])
            found.append((batch, self._session.run([self._name], {name: feed[name] for name in self._wanted})[0]))
        features = np.empty((len(rows), found[0][1].shape[-1]), dtype=np.float64)
        for batch, block in found:
            features[batch] = block
        return features


def feature_reader(model: ModelFolder, facts: ModelFacts) -> FeatureReader | None:
    """The reader of a model, of a blend that of its first member; None if its graph ends in another way than those of
    our exports."""
    if facts.members:
        first = model.member(facts.members[0])
        return feature_reader(first, first.facts())
    name = feature_name(memoryview(model.graph.read_bytes()))
    return None if name is None else FeatureReader(model, facts, name=name)


def feature_name(graph: Message) -> str | None:
    """The name of what the product reads that gives the logits; None without such a product."""
    try:
        made = {output: node for node in _nodes(graph) for output in node[2]}
    except GraphNotUnderstood:
        return None
    wanted = "logits"
    for _ in range(len(made)):
        operator, inputs, _ = made.get(wanted, ("", [], []))
        computed = next((name for name in inputs if name in made), None)
        if computed is None or operator in PRODUCTS:
            return computed
        wanted = computed
    return None


def _nodes(model: Message) -> Iterator[tuple[str, list[str], list[str]]]:
    """Operator, inputs and outputs of each node."""
    for graph in _blocks(model, MODEL_GRAPH):
        for node in _blocks(graph, GRAPH_NODE):
            operator = next((_text(one) for one in _blocks(node, NODE_OPERATOR)), "")
            inputs, outputs = ([_text(one) for one in _blocks(node, field)] for field in (NODE_INPUT, NODE_OUTPUT))
            yield operator, inputs, outputs


def _blocks(data: Message, field: int) -> list[Message]:
    found = (value for number, wire, value in wire_fields(data) if number == field and wire == BLOCK)
    return [value for value in found if isinstance(value, memoryview)]


def _text(data: Message) -> str:
    return bytes(data).decode("utf-8", "replace")


def with_output(graph: bytes, name: str) -> bytes:
    """The model with one more output: a protobuf message goes on behind its end, and what is added there is joined."""
    value = _field(VALUE_NAME, name.encode())
    return graph + _field(MODEL_GRAPH, _field(GRAPH_OUTPUT, value))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | BLOCK, *_varint(len(content))]) + content


def _varint(value: int) -> Iterator[int]:
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def directions(width: int) -> npt.NDArray[np.float64]:
    """(width, directions): signs that are the same everywhere, scaled so that lengths are about kept; a random
    projection (Achlioptas 2003, doi:10.1016/S0022-0000(03)00025-4). Of few features, these themselves."""
    if width <= MOST_DIRECTIONS:
        return np.eye(width)
    count = width * MOST_DIRECTIONS
    bits = np.unpackbits(np.frombuffer(shake_256(b"limbeck").digest(math.ceil(count / 8)), dtype=np.uint8))
    return np.asarray((2.0 * bits[:count].reshape(width, MOST_DIRECTIONS) - 1) / math.sqrt(width))


def feature_sketch(trained: Floats, dev: Floats) -> FeatureSketch | None:
    """From the features of training rows and of dev, (rows, width) each; None if all training rows have the same."""
    projected = trained @ directions(trained.shape[1])
    spread = np.atleast_2d(np.cov(projected, rowvar=False, bias=True))
    variance = float(np.trace(spread)) / len(spread)
    if not math.isfinite(variance) or variance <= 0:
        return None
    lower = np.linalg.inv(np.linalg.cholesky(spread + SHRINKAGE * variance * np.eye(len(spread))))
    center = _kept(projected.mean(axis=0))
    triangle = _kept(lower[np.tril_indices(len(lower))])
    sketch = FeatureSketch(trained.shape[1], center, triangle, quantile_sketch(np.zeros(1)))
    return FeatureSketch(trained.shape[1], center, triangle, quantile_sketch(distances(sketch, dev)))


def distances(sketch: FeatureSketch, features: Floats) -> Floats:
    """(rows): |L (P f - c)| / √directions: Mahalanobis distances to the mean of the training rows, about one there."""
    count = len(sketch.center)
    lower = np.zeros((count, count))
    lower[np.tril_indices(count)] = sketch.spread
    away = features @ directions(sketch.width) - np.array(sketch.center)
    return np.asarray(np.linalg.norm(away @ lower.T, axis=1) / math.sqrt(count))


def _kept(values: npt.NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in values.tolist())
