"""From the graph of a word-level student to its network in the C++ extension.

The names of a graph's constants say what kind of network it may be, and their shapes how large. From that the graph is
written down as an export would have written it, and the one in the file has to be exactly that: any other graph is left
to onnxruntime, which runs what the graph says.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from limbeck.kinds import STUDENT_KINDS, resolved
from limbeck.runtime import _native
from limbeck.runtime.exported_comparison import FIXED as COMPARISON_FIXED
from limbeck.runtime.exported_comparison import (
    JOIN,
    PROJECT,
    SAME_WORD,
    SCALE,
    bag_word_states,
    compared_nodes,
    recurrent_word_states,
)
from limbeck.runtime.exported_comparison import WORD_WEIGHTS as COMPARED_WEIGHTS
from limbeck.runtime.exported_nodes import (
    ATTENTION,
    CONTRIB,
    EMBEDDINGS,
    FILTERS,
    FIRST,
    FIXED,
    LOWEST,
    SECOND,
    WORD_WEIGHTS,
    TextNames,
    bag_nodes,
    classified,
    convolution_nodes,
    dequantised,
    joined_features,
    margin,
    recurrent_nodes,
    words_of,
)
from limbeck.runtime.graph_comparison import (
    CONTRIB_OPSET,
    MULTIPLIED,
    OPSET,
    SMALLEST_SCALE,
    STORED,
    Array,
    ExportedGraph,
    GraphWeight,
    floats,
    integers,
    refuse_unless_exported,
    scales,
)
from limbeck.runtime.inputs import NativeColumns
from limbeck.runtime.onnx_file import GraphNotUnderstood, GraphValue, Node, OnnxFile

Floats = npt.NDArray[np.float32]
Matrix = tuple[Array, Floats | None]  # float32; or int8, with its scales

# For each pooling of a recurrent student, a constant that only it has.
POOLINGS = {"max": "below_every_state", "mean": "no_state", "attention": "question.weight"}
LAST = "last"  # the pooling without a constant
GATES = {"lstm": 4, "gru": 3}
WIDEST = 1 << 16  # the widths of vectors and states: sums of so many integers fit into 32 bits
LARGEST_HALF = 65_504  # the extension keeps the products of int8 filters as half floats


class Network(Protocol):
    """The interface of a network of the extension."""

    def logits(self, columns: NativeColumns, out: Floats, threads: int, /) -> None:
        """Write (rows, classes) into `out`."""


class Plan(NamedTuple):
    """How a kind of student computes the features of a text, and what its graph then has to be."""

    network: type[Network]
    arguments: dict[str, Any]  # of the network, for these operators
    nodes: Callable[[TextNames], list[Node]]  # from a text's words to its features
    features: int  # of a text
    weights: dict[str, GraphWeight]
    fixed: dict[str, Array]
    first_nodes: list[Node]  # before those of the texts
    together: Sequence[Node] = ()  # after those of both texts, from what these compute to the features of each


def native_network(graph: OnnxFile) -> Network:
    """The graph's network. Raises GraphNotUnderstood, and ValueError if the extension does not take its weights."""
    kind = STUDENT_KINDS.get(graph.name)
    if kind is None or kind.native_plan is None:
        raise GraphNotUnderstood(f"networks of the kind '{graph.name}' are not supported")
    plan: Plan = resolved(kind.native_plan)(graph)
    refuse_unless_exported(graph, _exported(graph, plan))
    return plan.network(**plan.arguments, **_shared(graph))


def words_and_classes(graph: OnnxFile) -> tuple[int, int]:
    """How many words the network of a graph knows, and how many classes."""
    return _vector_sizes(graph)[0], _shape(graph, "classifier.bias", axes=1)[0]


def is_pair(graph: OnnxFile) -> bool:
    """Whether it reads two texts a row."""
    return any(value.name == SECOND.ids for value in graph.inputs)


def recurrent(graph: OnnxFile) -> Plan:
    """The plan of a Bi-LSTM or Bi-GRU."""
    levels = sum(name.endswith(".B") for name in graph.constants)
    cell = "gru" if any(node.operator == "GRU" for node in graph.nodes) else "lstm"
    pooling = next((name for name, constant in POOLINGS.items() if constant in graph.constants), LAST)
    hidden = _shape(graph, "level_0.B", axes=2)[1] // (2 * GATES[cell])
    _refuse_wide(2 * hidden)
    if SAME_WORD in graph.constants:
        return _comparing_recurrent(graph, cell=cell, levels=levels, hidden=hidden)
    int8, names = _is_int8(graph), [f"level_{number}" for number in range(levels)]
    arguments: dict[str, Any] = {"cell": cell, "pooling": pooling, "layers": [_level(graph, name) for name in names]}
    weights: dict[str, GraphWeight] = {}
    for name in names:
        weights |= _level_weights(graph, name, cell=cell, hidden=hidden)
    if pooling == "attention":
        question = _constant(graph, "attention.bias"), _constant(graph, "question.weight")
        arguments["attention"] = (*_matrix(graph, ATTENTION), *question)
        weights |= _product_weights(ATTENTION, 2 * hidden, 2 * hidden, int8=int8)
        weights |= {"attention.bias": floats(2 * hidden), "question.weight": floats(2 * hidden, 1)}
    no_zero_points = np.zeros((2, GATES[cell] * hidden), dtype=np.int8)
    restored = [f"{name}.{matrix}" for name in names for matrix in "WR"] if int8 and cell == "gru" else []
    return Plan(
        network=_native.Recurrent,
        arguments=arguments,
        nodes=partial(recurrent_nodes, cell=cell, levels=levels, hidden=hidden, pooling=pooling, int8=int8),
        features=2 * hidden,
        weights=weights,
        fixed={
            "side_by_side": np.array([0, 0, 2 * hidden]),
            **{f"{name}.{matrix}.zero": no_zero_points for name in names for matrix in "WR"},
        },
        first_nodes=[node for name in restored for node in dequantised(name)],
    )


def _comparing_recurrent(graph: OnnxFile, *, cell: str, levels: int, hidden: int) -> Plan:
    """Of one that compares two texts word by word after its only level."""
    if levels > 1:
        raise GraphNotUnderstood("of networks that compare two texts it runs those with one recurrent layer")
    int8 = _is_int8(graph)
    restored = [f"level_0.{matrix}" for matrix in "WR"] if int8 and cell == "gru" else []
    no_zero_points = np.zeros((2, GATES[cell] * hidden), dtype=np.int8)
    plan = _comparing(
        graph, width=2 * hidden, nodes=partial(recurrent_word_states, cell=cell, hidden=hidden, int8=int8)
    )
    return plan._replace(
        network=_native.Recurrent,
        arguments={"cell": cell, "pooling": "max", "layers": [_level(graph, "level_0")], **plan.arguments},
        weights=plan.weights | _level_weights(graph, "level_0", cell=cell, hidden=hidden),
        fixed={
            **plan.fixed,
            "side_by_side": np.array([0, 0, 2 * hidden]),
            **{f"level_0.{matrix}.zero": no_zero_points for matrix in "WR"},
        },
        first_nodes=[node for name in restored for node in dequantised(name)],
    )


def _comparing(graph: OnnxFile, *, width: int, nodes: Callable[[TextNames], list[Node]]) -> Plan:
    """Of a bag that compares two texts, and the comparison of any other; words have states of this width."""
    if not is_pair(graph):
        raise GraphNotUnderstood("it compares two texts, and reads one")
    int8, (words, _), (size,) = _is_int8(graph), _vector_sizes(graph), _shape(graph, "compare.join.bias", axes=1)
    _refuse_wide(size)
    biases = [_constant(graph, f"compare.{name}.bias") for name in ("project", "join")]
    same_word, word_weights = _constant(graph, SAME_WORD).reshape(1), _constant(graph, COMPARED_WEIGHTS)
    return Plan(
        network=_native.Bag,
        arguments={
            "comparison": (
                *_matrix(graph, PROJECT),
                biases[0],
                *_matrix(graph, JOIN),
                biases[1],
                same_word,
                word_weights,
            )
        },
        nodes=nodes,
        features=2 * size + 2,
        weights={
            **_product_weights(PROJECT, width, size, int8=int8),
            **_product_weights(JOIN, 4 * size + 1, size, int8=int8),
            **{f"compare.{name}.bias": floats(size) for name in ("project", "join")},
            SAME_WORD: floats(),
            COMPARED_WEIGHTS: floats(words + 1, outside=float(LOWEST)),
        },
        fixed={**COMPARISON_FIXED, SCALE: np.array(1 / math.sqrt(size), dtype=np.float32)},
        first_nodes=[],
        together=compared_nodes(int8=int8),
    )


def _level(graph: OnnxFile, name: str) -> tuple[Array, Floats | None, Array, Floats | None, Array]:
    return *_matrix(graph, f"{name}.W"), *_matrix(graph, f"{name}.R"), _constant(graph, f"{name}.B")


def _level_weights(graph: OnnxFile, name: str, *, cell: str, hidden: int) -> dict[str, GraphWeight]:
    outputs = GATES[cell] * hidden
    inputs = {"W": _vector_sizes(graph)[1] if name == "level_0" else 2 * hidden, "R": hidden}
    weights = {f"{name}.B": floats(2, 2 * outputs)}
    for matrix, size in inputs.items():
        key = f"{name}.{matrix}"
        if not _is_int8(graph):
            weights[key] = floats(2, outputs, size)
        elif cell == "gru":
            weights |= {f"{key}.int8": integers(2, outputs, size, limit=STORED), f"{key}.scale": scales(2, outputs, 1)}
        else:
            weights |= {key: integers(2, size, outputs, limit=MULTIPLIED), f"{key}.scale": scales(2, outputs)}
    return weights


def convolution(graph: OnnxFile) -> Plan:
    """The plan of a text CNN."""
    sums = [node for node in graph.nodes if node.operator == "Sum" and f"{FIRST.ids}." in "".join(node.outputs)]
    windows = [len(node.inputs) for node in sums]  # one summand for each position of the window
    if not windows:
        raise GraphNotUnderstood("it has no windows")
    int8, width = _is_int8(graph), _vector_sizes(graph)[1]
    count = _shape(graph, "filters.bias", axes=1)[0] // len(windows)
    filters, filter_scales = _matrix(graph, FILTERS)
    weights = {"filters.bias": floats(len(windows) * count)}
    weights |= _product_weights(FILTERS, width, sum(windows) * count, int8=int8)
    if int8:
        largest = float(_constant(graph, f"{EMBEDDINGS}.scale").max(initial=SMALLEST_SCALE)) * STORED
        most = LARGEST_HALF / (width * MULTIPLIED * largest)
        weights[f"{FILTERS}.scale"] = scales(sum(windows) * count, most=most)
    margins = {
        margin(window, place): np.array([0, window - 1 - place, 0, 0, place, 0])
        for window in windows
        for place in range(window)
    }
    return Plan(
        network=_native.Convolution,
        arguments={
            "windows": windows,
            "filters": filters,
            "filter_scales": filter_scales,
            "bias": _constant(graph, "filters.bias"),
        },
        nodes=partial(convolution_nodes, windows=windows, int8=int8),
        features=len(windows) * count,
        weights=weights,
        fixed={"widths": np.full(sum(windows), count), **margins},
        first_nodes=[],
    )


def bag(graph: OnnxFile) -> Plan:
    """The plan of a weighted mean of word vectors, or of a comparison of theirs."""
    if SAME_WORD in graph.constants:
        nodes = partial(bag_word_states, int8=_is_int8(graph))
        return _comparing(graph, width=_vector_sizes(graph)[1], nodes=nodes)
    return _bag(graph, weighted=WORD_WEIGHTS in graph.constants, unit_length=False)


def ngrams(graph: OnnxFile) -> Plan:
    """The plan of a weighted sum of n-gram vectors, whose weights have the length 1."""
    return _bag(graph, weighted=True, unit_length=True)


def _bag(graph: OnnxFile, *, weighted: bool, unit_length: bool) -> Plan:
    words, width = _vector_sizes(graph)
    logarithms = {WORD_WEIGHTS: floats(words + 1, outside=float(LOWEST))} if weighted else {}
    return Plan(
        network=_native.Bag,
        arguments={
            "word_weights": _constant(graph, WORD_WEIGHTS) if weighted else None,
            "unit_length": unit_length,
        },
        nodes=partial(bag_nodes, weighted=weighted, unit_length=unit_length, int8=_is_int8(graph)),
        features=width,
        weights=logarithms,
        fixed={},
        first_nodes=[],
    )


def _exported(graph: OnnxFile, plan: Plan) -> ExportedGraph:
    """The graph that an export of this plan's network would be: for one text or two, and with its head."""
    texts, has_dense = (FIRST, SECOND) if is_pair(graph) else (FIRST,), _has_dense(graph)
    features = "joined" if is_pair(graph) else f"{FIRST.ids}.features"
    words, classes = words_and_classes(graph)
    return ExportedGraph(
        opsets={"": OPSET} | ({CONTRIB: CONTRIB_OPSET} if _is_int8(graph) else {}),
        inputs=[value for text in texts for value in _inputs(text)],
        outputs=[GraphValue("logits", "<f4", ("rows", classes))],
        nodes=[
            *plan.first_nodes,
            *(node for text in texts for node in (*words_of(text), *plan.nodes(text))),
            *plan.together,
            *(joined_features() if is_pair(graph) else []),
            *classified(features, dense=has_dense),
        ],
        fixed=FIXED | {"outside": np.array(words)} | plan.fixed,
        weights=_shared_weights(graph, features=plan.features * (4 if is_pair(graph) else 1)) | plan.weights,
    )


def _inputs(text: TextNames) -> list[GraphValue]:
    return [GraphValue(text.ids, "<i8", ("rows", text.tokens)), GraphValue(text.lengths, "<i4", ("rows",))]


def _shared_weights(graph: OnnxFile, *, features: int) -> dict[str, GraphWeight]:
    (words, width), (_, classes) = _vector_sizes(graph), words_and_classes(graph)
    weights = {EMBEDDINGS: floats(words + 1, width, outside=0)}
    if _is_int8(graph):
        weights = {
            f"{EMBEDDINGS}.int8": integers(words + 1, width, limit=STORED, outside=0),
            f"{EMBEDDINGS}.scale": scales(words + 1, 1),
        }
    if _has_dense(graph):
        (outputs,) = _shape(graph, "dense.bias", axes=1)
        weights |= {"dense.weight": floats(outputs, features), "dense.bias": floats(outputs)}
        features = outputs
    return weights | {"classifier.weight": floats(classes, features), "classifier.bias": floats(classes)}


def _product_weights(name: str, inputs: int, outputs: int, *, int8: bool) -> dict[str, GraphWeight]:
    """A matrix that states are multiplied with, as integers if they are int8."""
    if not int8:
        return {name: floats(inputs, outputs)}
    return {name: integers(inputs, outputs, limit=MULTIPLIED), f"{name}.scale": scales(outputs)}


def _shared(graph: OnnxFile) -> dict[str, Any]:
    """What every word-level student has: its embeddings and its head."""
    embeddings, embedding_scales = _matrix(graph, EMBEDDINGS)
    return {
        "embeddings": embeddings,
        "embedding_scales": embedding_scales,
        "dense": _linear(graph, "dense") if _has_dense(graph) else None,
        "classifier": _linear(graph, "classifier"),
        "pair": is_pair(graph),
    }


def _is_int8(graph: OnnxFile) -> bool:
    return f"{EMBEDDINGS}.int8" in graph.constants


def _has_dense(graph: OnnxFile) -> bool:
    return "dense.weight" in graph.constants


def _vector_sizes(graph: OnnxFile) -> tuple[int, int]:
    """The number of words, and the width of their vectors. The last row of the table is no word."""
    rows, width = _shape(graph, f"{EMBEDDINGS}.int8" if _is_int8(graph) else EMBEDDINGS, axes=2)
    _refuse_wide(width)
    return rows - 1, width


def _refuse_wide(width: int) -> None:
    if width > WIDEST:
        raise GraphNotUnderstood(f"its vectors have {width:,} numbers")


def _linear(graph: OnnxFile, name: str) -> tuple[Array, Array]:
    return _constant(graph, f"{name}.weight"), _constant(graph, f"{name}.bias")


def _matrix(graph: OnnxFile, name: str) -> Matrix:
    key = f"{name}.int8" if f"{name}.int8" in graph.constants else name
    return _constant(graph, key), graph.constants.get(f"{name}.scale")


def _shape(graph: OnnxFile, name: str, *, axes: int) -> tuple[int, ...]:
    """The shape of a constant that has so many axes, and a number at least."""
    shape: tuple[int, ...] = _constant(graph, name).shape
    if len(shape) != axes or 0 in shape:
        raise GraphNotUnderstood(f"the constant '{name}' has the shape {shape}")
    return shape


def _constant(graph: OnnxFile, name: str) -> Array:
    if name not in graph.constants:
        raise GraphNotUnderstood(f"it has no constant '{name}'")
    return graph.constants[name]
