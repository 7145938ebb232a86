"""Whether a graph is exactly one that a student would be exported as: every node, attribute, constant and size."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from limbeck.runtime.onnx_file import GraphNotUnderstood, GraphValue, Node, OnnxFile

Array = npt.NDArray[Any]

IR_VERSION, OPSET, CONTRIB_OPSET = 8, 18, 1
# No trained weight is as large. Below it nothing overflows, in whatever order an engine adds: NaN and infinity, which
# engines treat differently, do not arise.
LARGEST = 1e4
STORED, MULTIPLIED = 127, 63  # int8 weights that become floats, and those that are multiplied as integers
SMALLEST_SCALE = float(np.finfo(np.float32).tiny)


class GraphWeight(NamedTuple):
    """A constant that was learned: what is known of its numbers."""

    dtype: str
    shape: tuple[int, ...]
    least: float
    most: float
    outside: float | None = None  # of a table of words: the numbers of its last row, for positions outside a text


def floats(*shape: int, outside: float | None = None) -> GraphWeight:
    """Weights in fp32."""
    return GraphWeight("<f4", shape, -LARGEST, LARGEST, outside)


def integers(*shape: int, limit: int, outside: float | None = None) -> GraphWeight:
    """Weights in int8."""
    return GraphWeight("i1", shape, -limit, limit, outside)


def scales(*shape: int, most: float = LARGEST / STORED) -> GraphWeight:
    """The scales of weights in int8."""
    return GraphWeight("<f4", shape, SMALLEST_SCALE, most)


@dataclass(frozen=True)
class ExportedGraph:
    """What a graph has to be."""

    opsets: Mapping[str, int]
    inputs: list[GraphValue]
    outputs: list[GraphValue]
    nodes: list[Node]
    fixed: Mapping[str, Array]  # constants with their values; possibly more than the nodes read
    weights: Mapping[str, GraphWeight]


def refuse_unless_exported(graph: OnnxFile, expected: ExportedGraph) -> None:
    """Raises GraphNotUnderstood, with the first difference."""
    if (graph.ir_version, graph.opsets) != (IR_VERSION, expected.opsets):
        raise GraphNotUnderstood(f"its versions are {graph.ir_version} and {dict(graph.opsets)}")
    if (graph.inputs, graph.outputs) != (expected.inputs, expected.outputs):
        raise GraphNotUnderstood("its inputs or outputs are not those of an export")
    for place, (found, wanted) in enumerate(zip(graph.nodes, expected.nodes, strict=False)):
        if found != wanted:
            raise GraphNotUnderstood(f"its node {place} ({found.operator}) is not that of an export: {wanted.operator}")
    if len(graph.nodes) != len(expected.nodes):
        raise GraphNotUnderstood(f"it has {len(graph.nodes)} nodes, and an export has {len(expected.nodes)}")
    _refuse_other_constants(graph, expected)


def _refuse_other_constants(graph: OnnxFile, expected: ExportedGraph) -> None:
    read = {name for node in expected.nodes for name in node.inputs}
    wanted = {name for name in (*expected.fixed, *expected.weights) if name in read}
    if differing := sorted(wanted.symmetric_difference(graph.constants)):
        raise GraphNotUnderstood(f"the constant '{differing[0]}' is missing, or one more than an export has")
    for name, found in graph.constants.items():
        if (weight := expected.weights.get(name)) is not None:
            _refuse_other_weight(name, found, weight)
        elif not _is_same(found, expected.fixed[name]):
            raise GraphNotUnderstood(f"the constant '{name}' has another value than in an export")


def _is_same(found: Array, wanted: Array) -> bool:
    return found.dtype == wanted.dtype and found.shape == wanted.shape and bool(np.all(found == wanted))


def _refuse_other_weight(name: str, found: Array, wanted: GraphWeight) -> None:
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise GraphNotUnderstood(f"'{name}' is {found.dtype} {found.shape}, and not {wanted.dtype} {wanted.shape}")
    learned = found
    if wanted.outside is not None:
        learned, outside = found[:-1], found[-1]
        if not np.all(outside == wanted.outside):
            raise GraphNotUnderstood(f"the last row of '{name}', which is outside of every text, is not empty")
    if not (wanted.least <= learned.min() and learned.max() <= wanted.most):  # also if one of them is no number
        raise GraphNotUnderstood(f"'{name}' has numbers beyond {wanted.least:g} to {wanted.most:g}, or none")
