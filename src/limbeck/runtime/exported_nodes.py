"""The nodes of the graphs that word-level students are exported as, which the native engine compares a file with.

They are written down here a second time on purpose, next to the kernels that compute them: a change of the export that
the kernels do not know makes another graph, which onnxruntime runs. Values have the names that limbeck.export gives.
"""

from typing import NamedTuple

import numpy as np

from limbeck.runtime.onnx_file import Attribute, Node

CONTRIB = "com.microsoft"  # onnxruntime's own operators
FLOAT, INT64 = 1, 7  # ONNX's numbers of types
EMBEDDINGS, WORD_WEIGHTS, FILTERS, ATTENTION = "embeddings", "word_weights", "filters", "attention.weight"
LOWEST = np.finfo(np.float32).min
BELOW_EVERY_STATE = np.float32(-2)

# Constants that are the same in every graph that has them.
FIXED = {
    "one_int32": np.array([1], dtype=np.int32),
    "zero": np.array(0),
    "one": np.array(1),
    "axis_0": np.array([0]),
    "axis_1": np.array([1]),
    "axis_2": np.array([2]),
    "axes_1_3": np.array([1, 3]),
    "below_every_state": np.array(BELOW_EVERY_STATE),
    "no_state": np.array(0, dtype=np.float32),
    "no_relevance": np.array(LOWEST),
    "no_window": np.array(LOWEST),
    "no_weight": np.array(LOWEST),
    "like_all_others": np.array(0, dtype=np.float32),
}


class TextNames(NamedTuple):
    """One text of a row: the names of its two inputs, and of the dimension of its tokens."""

    ids: str
    lengths: str
    tokens: str


FIRST, SECOND = TextNames("input_ids", "lengths", "tokens"), TextNames("pair_ids", "pair_lengths", "pair_tokens")


def node(operator: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Attribute) -> Node:
    """A node, as it is written in one line."""
    return Node(operator, inputs, list(outputs), attributes, domain)


def words_of(text: TextNames) -> list[Node]:
    """Ids and lengths → `.words`, `.inside` and `.column`."""
    ids, lengths = text.ids, text.lengths
    return [
        node("Max", [lengths, "one_int32"], f"{lengths}.positive"),
        node("Cast", [f"{lengths}.positive"], f"{lengths}.int64", to=INT64),
        node("Unsqueeze", [f"{lengths}.int64", "axis_1"], f"{lengths}.column"),
        node("Shape", [ids], f"{ids}.token_count_1d", start=1, end=2),
        node("Squeeze", [f"{ids}.token_count_1d"], f"{ids}.token_count"),
        node("Range", ["zero", f"{ids}.token_count", "one"], f"{ids}.positions"),
        node("Less", [f"{ids}.positions", f"{lengths}.column"], f"{ids}.inside"),
        node("Where", [f"{ids}.inside", ids, "outside"], f"{ids}.words"),
    ]


def joined_features() -> list[Node]:
    """[h1; h2; h1⊙h2; |h1−h2|]"""
    one, other = f"{FIRST.ids}.features", f"{SECOND.ids}.features"
    return [
        node("Mul", [one, other], "product"),
        node("Sub", [one, other], "difference"),
        node("Abs", ["difference"], "distance"),
        node("Concat", [one, other, "product", "distance"], "joined", axis=1),
    ]


def classified(features: str, *, dense: bool) -> list[Node]:
    """Features → `logits`."""
    before = [
        node("Gemm", [features, "dense.weight", "dense.bias"], "dense", transB=1),
        node("Relu", ["dense"], "active"),
    ]
    read = "active" if dense else features
    last = node("Gemm", [read, "classifier.weight", "classifier.bias"], "logits", transB=1)
    return [*before, last] if dense else [last]


def dequantised(name: str) -> list[Node]:
    """A constant that is stored as int8, as floats again."""
    return [
        node("Cast", [f"{name}.int8"], f"{name}.whole", to=FLOAT),
        node("Mul", [f"{name}.whole", f"{name}.scale"], name),
    ]


def recurrent_nodes(text: TextNames, *, cell: str, levels: int, hidden: int, pooling: str, int8: bool) -> list[Node]:
    """Words → `.features` of a Bi-LSTM or Bi-GRU."""
    ids = text.ids
    nodes = [node("Transpose", [f"{ids}.words"], f"{ids}.by_token", perm=[1, 0])]
    nodes += looked_up(f"{ids}.by_token", f"{ids}.level_0", int8=int8)
    for level in range(levels):
        top = level == levels - 1
        states = f"{ids}.states" if top else f"{ids}.states_{level}"
        outputs = states, f"{ids}.last" if top else ""
        nodes.append(recurrent_level(cell, text, level, *outputs, hidden=hidden, int8=int8))
        nodes += [] if top else _side_by_side(states, f"{ids}.level_{level + 1}")
    return nodes + _pooled(text, pooling, int8=int8)


def recurrent_level(cell: str, text: TextNames, level: int, *outputs: str, hidden: int, int8: bool) -> Node:
    """One bidirectional level."""
    weights = [f"level_{level}.{name}" for name in "WRB"]
    inputs = [f"{text.ids}.level_{level}", *weights, f"{text.lengths}.positive"]
    if cell == "gru":
        return node("GRU", inputs, *outputs, direction="bidirectional", hidden_size=hidden, linear_before_reset=1)
    if not int8:
        return node("LSTM", inputs, *outputs, direction="bidirectional", hidden_size=hidden)
    inputs += ["", "", "", *(f"{name}.{part}" for name in weights[:2] for part in ("scale", "zero"))]
    operator = "DynamicQuantizeLSTM"
    return node(operator, inputs, *outputs, domain=CONTRIB, direction="bidirectional", hidden_size=hidden)


def _pooled(text: TextNames, pooling: str, *, int8: bool) -> list[Node]:
    """`.states` and `.last` → `.features`."""
    ids, lengths = text.ids, text.lengths
    match pooling:
        case "max":
            largest = node("ReduceMax", [f"{ids}.masked", "axis_0"], f"{ids}.largest", keepdims=0)
            return [*_masked(ids, "below_every_state"), largest, *_flat(f"{ids}.largest", f"{ids}.features")]
        case "mean":
            return [
                *_masked(ids, "no_state"),
                node("ReduceSum", [f"{ids}.masked", "axis_0"], f"{ids}.sum", keepdims=0),
                *_flat(f"{ids}.sum", f"{ids}.flat_sum"),
                node("Cast", [f"{lengths}.column"], f"{lengths}.float", to=FLOAT),
                node("Div", [f"{ids}.flat_sum", f"{lengths}.float"], f"{ids}.features"),
            ]
        case "attention":
            return _attended(ids, int8=int8)
    return _flat(f"{ids}.last", f"{ids}.features")


def _attended(ids: str, *, int8: bool) -> list[Node]:
    return [
        *_side_by_side(f"{ids}.states", f"{ids}.both"),
        product(f"{ids}.both", ATTENTION, f"{ids}.turned", int8=int8),
        node("Add", [f"{ids}.turned", "attention.bias"], f"{ids}.shifted"),
        node("Tanh", [f"{ids}.shifted"], f"{ids}.asked"),
        node("MatMul", [f"{ids}.asked", "question.weight"], f"{ids}.relevance"),
        node("Transpose", [f"{ids}.inside"], f"{ids}.inside_by_token", perm=[1, 0]),
        node("Unsqueeze", [f"{ids}.inside_by_token", "axis_2"], f"{ids}.inside_3d"),
        node("Where", [f"{ids}.inside_3d", f"{ids}.relevance", "no_relevance"], f"{ids}.relevance_inside"),
        node("Softmax", [f"{ids}.relevance_inside"], f"{ids}.weights", axis=0),
        node("Mul", [f"{ids}.weights", f"{ids}.both"], f"{ids}.weighed"),
        node("ReduceSum", [f"{ids}.weighed", "axis_0"], f"{ids}.features", keepdims=0),
    ]


def _masked(ids: str, outside: str) -> list[Node]:
    return [
        node("Transpose", [f"{ids}.inside"], f"{ids}.inside_by_token", perm=[1, 0]),
        node("Unsqueeze", [f"{ids}.inside_by_token", "axes_1_3"], f"{ids}.inside_4d"),
        node("Where", [f"{ids}.inside_4d", f"{ids}.states", outside], f"{ids}.masked"),
    ]


def _side_by_side(states: str, both: str) -> list[Node]:
    return [
        node("Transpose", [states], f"{states}.by_row", perm=[0, 2, 1, 3]),
        node("Reshape", [f"{states}.by_row", "side_by_side"], both),
    ]


def _flat(states: str, features: str) -> list[Node]:
    return [
        node("Transpose", [states], f"{states}.by_row", perm=[1, 0, 2]),
        node("Flatten", [f"{states}.by_row"], features, axis=1),
    ]


def convolution_nodes(text: TextNames, *, windows: list[int], int8: bool) -> list[Node]:
    """Words → `.features` of a text CNN."""
    ids, numbers = text.ids, range(len(windows))
    places = [f"{ids}.said_{number}_{place}" for number in numbers for place in range(windows[number])]
    return [
        *looked_up(f"{ids}.words", f"{ids}.vectors", int8=int8),
        product(f"{ids}.vectors", FILTERS, f"{ids}.said", int8=int8),
        node("Split", [f"{ids}.said", "widths"], *places, axis=2),
        node("Unsqueeze", [f"{ids}.inside", "axis_2"], f"{ids}.inside_3d"),
        *(part for number in numbers for part in _window(ids, number, windows[number])),
        node("Concat", [f"{ids}.window_{number}.largest" for number in numbers], f"{ids}.largest", axis=1),
        node("Add", [f"{ids}.largest", "filters.bias"], f"{ids}.biased"),
        node("Relu", [f"{ids}.biased"], f"{ids}.features"),
    ]


def _window(ids: str, number: int, window: int) -> list[Node]:
    name = f"{ids}.window_{number}"
    products = [f"{name}.started", *(f"{ids}.said_{number}_{place}" for place in range(1, window))]
    moved = [f"{name}.moved_{place}" for place in range(window)]
    return [
        node("Where", [f"{ids}.inside_3d", f"{ids}.said_{number}_0", "no_window"], f"{name}.started"),
        *(node("Pad", [products[place], margin(window, place)], moved[place]) for place in range(window)),
        node("Sum", moved, f"{name}.values"),
        node("ReduceMax", [f"{name}.values", "axis_1"], f"{name}.largest", keepdims=0),
    ]


def margin(window: int, place: int) -> str:
    """The name of the constant by which the products of a place are shifted."""
    return f"margins_{window - 1 - place}_{place}"


def bag_nodes(text: TextNames, *, weighted: bool, unit_length: bool, int8: bool) -> list[Node]:
    """Words → `.features` of a bag of words; with `unit_length`, of a student of n-grams."""
    ids = text.ids
    if weighted:
        logarithms = node("Gather", [WORD_WEIGHTS, f"{ids}.words"], f"{ids}.logarithms")
    else:
        logarithms = node("Where", [f"{ids}.inside", "like_all_others", "no_weight"], f"{ids}.logarithms")
    shares, total = (f"{ids}.weights", f"{ids}.sum") if unit_length else (f"{ids}.shares", f"{ids}.mean")
    scaled = [
        node("ReduceL2", [f"{ids}.shares", "axis_1"], f"{ids}.length", keepdims=1),
        node("Div", [f"{ids}.shares", f"{ids}.length"], shares),
    ]
    return [
        logarithms,
        *looked_up(f"{ids}.words", f"{ids}.vectors", int8=int8),
        node("Softmax", [f"{ids}.logarithms"], f"{ids}.shares", axis=1),
        *(scaled if unit_length else []),
        node("Unsqueeze", [shares, "axis_1"], f"{shares}_3d"),
        node("MatMul", [f"{shares}_3d", f"{ids}.vectors"], total),
        node("Flatten", [total], f"{ids}.features", axis=1),
    ]


def looked_up(words: str, vectors: str, *, int8: bool) -> list[Node]:
    """A lookup of word vectors."""
    if not int8:
        return [node("Gather", [EMBEDDINGS, words], vectors)]
    return [
        node("Gather", [f"{EMBEDDINGS}.int8", words], f"{vectors}.int8"),
        node("Gather", [f"{EMBEDDINGS}.scale", words], f"{vectors}.scale"),
        node("Cast", [f"{vectors}.int8"], f"{vectors}.whole", to=FLOAT),
        node("Mul", [f"{vectors}.whole", f"{vectors}.scale"], vectors),
    ]


def product(states: str, weight: str, output: str, *, int8: bool) -> Node:
    """States times a matrix, as integers where it is int8."""
    if not int8:
        return node("MatMul", [states, weight], output)
    return node("DynamicQuantizeMatMul", [states, weight, f"{weight}.scale"], output, domain=CONTRIB)
