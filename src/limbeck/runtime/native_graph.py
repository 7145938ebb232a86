"""From the graph of a word-level student to its network in the C++ extension.

A graph is recognised as one of ours by its constants and its sequence of operators: any other graph is left to
onnxruntime, which runs exactly what the graph says.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.runtime import _native
from limbeck.runtime.inputs import NativeColumns
from limbeck.runtime.onnx_file import GraphNotUnderstood, OnnxFile

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Matrix = tuple[Array, Floats | None]  # float32; or int8, with its scales

WORDS = "Max Cast Unsqueeze Shape Squeeze Range Less Where"
LOOKUP, INT8_LOOKUP = "Gather", "Gather Gather Cast Mul"
RESTORED = "Cast Mul"  # int8 weights without an int8 operator in onnxruntime become floats at the start of the graph
MASKED = "Transpose Unsqueeze Where"
# For each pooling of a recurrent student: a constant that only it has, and its operators.
POOLINGS = {
    "max": ("below_every_state", f"{MASKED} ReduceMax Transpose Flatten"),
    "mean": ("no_state", f"{MASKED} ReduceSum Transpose Flatten Cast Div"),
    "attention": ("question.weight", f"Transpose Reshape MatMul Add Tanh MatMul {MASKED} Softmax Mul ReduceSum"),
}
LAST = "last", "Transpose Flatten"  # the pooling without a constant
JOINED, DENSE, CLASSIFIER = "Mul Sub Abs Concat", "Gemm Relu", "Gemm"
# Quantised operators that compute the same.
SAME = {"DynamicQuantizeLSTM": "LSTM", "DynamicQuantizeMatMul": "MatMul"}


class Network(Protocol):
    """The interface of a network of the extension."""

    def logits(self, columns: NativeColumns, out: Floats, threads: int, /) -> None:
        """Write (rows, classes) into `out`."""


def native_network(graph: OnnxFile) -> Network:
    """The graph's network. Raises GraphNotUnderstood, and ValueError if the sizes of its weights do not fit."""
    kind = STUDENT_KINDS.get(graph.name)
    if kind is None or kind.native_plan is None:
        raise GraphNotUnderstood(f"networks of the kind '{graph.name}' are not supported")
    plan: Plan = resolved(kind.native_plan)(graph)
    _refuse_unless(graph, plan.operators)
    return plan.network(**plan.weights, **_shared(graph))


class Plan(NamedTuple):
    """How a kind of student computes the features of a text."""

    network: type[Network]
    operators: str  # from a text's words to its features
    weights: dict[str, Any]  # of these operators


def recurrent(graph: OnnxFile) -> Plan:
    """The plan of a Bi-LSTM or Bi-GRU."""
    levels = sum(name.endswith(".B") for name in graph.constants)
    cell = "GRU" if any(node.operator == "GRU" for node in graph.nodes) else "LSTM"
    found = ((name, nodes) for name, (constant, nodes) in POOLINGS.items() if constant in graph.constants)
    pooling, pooled = next(found, LAST)
    weights: dict[str, Any] = {
        "cell": cell.lower(),
        "pooling": pooling,
        "layers": [_level(graph, f"level_{number}") for number in range(levels)],
    }
    if pooling == "attention":
        question = _constant(graph, "attention.bias"), _constant(graph, "question.weight")
        weights["attention"] = (*_matrix(graph, "attention.weight"), *question)
    stacked = " Transpose Reshape ".join([cell] * levels)
    return Plan(_native.Recurrent, f"Transpose {_lookup(graph)} {stacked} {pooled}", weights)


def _level(graph: OnnxFile, name: str) -> tuple[Array, Floats | None, Array, Floats | None, Array]:
    for matrix in ("W", "R"):
        if np.any(graph.constants.get(f"{name}.{matrix}.zero", 0)):
            raise GraphNotUnderstood(f"'{name}.{matrix}' has a zero point other than 0")
    return *_matrix(graph, f"{name}.W"), *_matrix(graph, f"{name}.R"), _constant(graph, f"{name}.B")


def convolution(graph: OnnxFile) -> Plan:
    """The plan of a text CNN."""
    sums = [node for node in graph.nodes if node.operator == "Sum" and node.outputs[0].startswith("input_ids.")]
    windows = [len(node.inputs) for node in sums]  # one summand for each position of the window
    filters, scales = _matrix(graph, "filters")
    weights = {
        "windows": windows,
        "filters": filters,
        "filter_scales": scales,
        "bias": _constant(graph, "filters.bias"),
    }
    by_window = " ".join(f"Where {'Pad ' * window}Sum ReduceMax" for window in windows)
    operators = f"{_lookup(graph)} MatMul Split Unsqueeze {by_window} Concat Add Relu"
    return Plan(_native.Convolution, operators, weights)


def bag(graph: OnnxFile) -> Plan:
    """The plan of a weighted mean of word vectors."""
    logarithms = graph.constants.get("word_weights")
    weighed = "Where" if logarithms is None else "Gather"
    operators = f"{weighed} {_lookup(graph)} Softmax Unsqueeze MatMul Flatten"
    return Plan(_native.Bag, operators, {"word_weights": logarithms})


def ngrams(graph: OnnxFile) -> Plan:
    """The plan of a weighted sum of n-gram vectors, whose weights have the length 1."""
    operators = f"Gather {_lookup(graph)} Softmax ReduceL2 Div Unsqueeze MatMul Flatten"
    return Plan(_native.Bag, operators, {"word_weights": _constant(graph, "word_weights"), "unit_length": True})


def _shared(graph: OnnxFile) -> dict[str, Any]:
    """What every word-level student has: its embeddings and its head."""
    embeddings, scales = _matrix(graph, "embeddings")
    return {
        "embeddings": embeddings,
        "embedding_scales": scales,
        "dense": _linear(graph, "dense") if _has_dense(graph) else None,
        "classifier": _linear(graph, "classifier"),
        "pair": _is_pair(graph),
    }


def _refuse_unless(graph: OnnxFile, of_text: str) -> None:
    """Raise unless the graph has exactly these operators: for one text or two, and for the head."""
    restored = sum(name.startswith("level_") and name.endswith(".int8") for name in graph.constants)
    texts = [WORDS, of_text] * (2 if _is_pair(graph) else 1) + [JOINED] * _is_pair(graph)
    expected = " ".join([RESTORED] * restored + texts + [DENSE] * _has_dense(graph) + [CLASSIFIER])
    found = " ".join(SAME.get(node.operator, node.operator) for node in graph.nodes)
    if found != expected:
        raise GraphNotUnderstood(f"its operators are not those of a '{graph.name}' that this version knows")


def _lookup(graph: OnnxFile) -> str:
    return LOOKUP if "embeddings" in graph.constants else INT8_LOOKUP


def _is_pair(graph: OnnxFile) -> bool:
    return "pair_ids" in graph.inputs


def _has_dense(graph: OnnxFile) -> bool:
    return "dense.weight" in graph.constants


def _linear(graph: OnnxFile, name: str) -> tuple[Array, Array]:
    return _constant(graph, f"{name}.weight"), _constant(graph, f"{name}.bias")


def _matrix(graph: OnnxFile, name: str) -> Matrix:
    key = f"{name}.int8" if f"{name}.int8" in graph.constants else name
    return _constant(graph, key), graph.constants.get(f"{name}.scale")


def _constant(graph: OnnxFile, name: str) -> Array:
    if name not in graph.constants:
        raise GraphNotUnderstood(f"it has no constant '{name}'")
    return graph.constants[name]
