"""The nodes of graphs that compare two texts word by word, which the native engine compares a file with.

As in limbeck.runtime.exported_nodes, they are written down a second time on purpose.
"""

import numpy as np

from limbeck.runtime.exported_nodes import (
    FIRST,
    FLOAT,
    LOWEST,
    SECOND,
    TextNames,
    looked_up,
    node,
    product,
    recurrent_level,
)
from limbeck.runtime.onnx_file import Node

PROJECT, JOIN = "compare.project.weight", "compare.join.weight"
WORD_WEIGHTS, SAME_WORD, SCALE = "compare.word_weights", "compare.same_word", "compare.scale"
FIXED = {"last_special": np.array(2), "lowest": np.array(LOWEST)}


def recurrent_word_states(text: TextNames, *, cell: str, hidden: int, int8: bool) -> list[Node]:
    """Words → `.word_states` of the only level."""
    ids = text.ids
    return [
        node("Transpose", [f"{ids}.words"], f"{ids}.by_token", perm=[1, 0]),
        *looked_up(f"{ids}.by_token", f"{ids}.level_0", int8=int8),
        recurrent_level(cell, text, 0, f"{ids}.states_0", hidden=hidden, int8=int8),
        node("Transpose", [f"{ids}.states_0"], f"{ids}.states_0.by_row", perm=[2, 0, 1, 3]),
        node("Reshape", [f"{ids}.states_0.by_row", "side_by_side"], f"{ids}.word_states"),
    ]


def bag_word_states(text: TextNames, *, int8: bool) -> list[Node]:
    """Words → `.word_states`: their vectors."""
    return looked_up(f"{text.ids}.words", f"{text.ids}.word_states", int8=int8)


def compared_nodes(*, int8: bool) -> list[Node]:
    """`.word_states` of both texts → `.features` of both."""
    one, other = FIRST.ids, SECOND.ids
    return [
        *(part for text in (FIRST, SECOND) for part in _projected(text.ids, int8=int8)),
        *_same_words(one, other),
        node("Transpose", [f"{other}.projected"], f"{other}.turned", perm=[0, 2, 1]),
        node("MatMul", [f"{one}.projected", f"{other}.turned"], "products"),
        node("Mul", ["products", SCALE], "likeness"),
        node("Mul", ["same", SAME_WORD], "sameness"),
        node("Add", ["likeness", "sameness"], "relevance"),
        node("Transpose", ["relevance"], "relevance_back", perm=[0, 2, 1]),
        *_aligned(one, other, "relevance"),
        *_aligned(other, one, "relevance_back"),
        node("ReduceMax", ["same", "axis_2"], f"{one}.matches", keepdims=1),
        node("Transpose", ["same"], "same_back", perm=[0, 2, 1]),
        node("ReduceMax", ["same_back", "axis_2"], f"{other}.matches", keepdims=1),
        *(part for text in (FIRST, SECOND) for part in _joined(text.ids, int8=int8)),
        *(part for text in (FIRST, SECOND) for part in _pooled(text)),
    ]


def _projected(ids: str, *, int8: bool) -> list[Node]:
    return [
        node("Unsqueeze", [f"{ids}.inside", "axis_2"], f"{ids}.inside_3d"),
        node("Unsqueeze", [f"{ids}.inside", "axis_1"], f"{ids}.inside_across"),
        product(f"{ids}.word_states", PROJECT, f"{ids}.products", int8=int8),
        node("Add", [f"{ids}.products", "compare.project.bias"], f"{ids}.shifted"),
        node("Relu", [f"{ids}.shifted"], f"{ids}.projected"),
    ]


def _same_words(one: str, other: str) -> list[Node]:
    return [
        node("Greater", [f"{one}.words", "last_special"], f"{one}.known"),
        node("And", [f"{one}.known", f"{one}.inside"], f"{one}.known_inside"),
        node("Unsqueeze", [f"{one}.known_inside", "axis_2"], f"{one}.known_3d"),
        node("Unsqueeze", [f"{one}.words", "axis_2"], f"{one}.words_down"),
        node("Unsqueeze", [f"{other}.words", "axis_1"], f"{other}.words_across"),
        node("Equal", [f"{one}.words_down", f"{other}.words_across"], "equal"),
        node("And", ["equal", f"{one}.known_3d"], "equal_inside"),
        node("Cast", ["equal_inside"], "same", to=FLOAT),
    ]


def _aligned(ids: str, others: str, relevance: str) -> list[Node]:
    return [
        node("Where", [f"{others}.inside_across", relevance, "lowest"], f"{ids}.relevance"),
        node("Softmax", [f"{ids}.relevance"], f"{ids}.attention", axis=2),
        node("MatMul", [f"{ids}.attention", f"{others}.projected"], f"{ids}.aligned"),
    ]


def _joined(ids: str, *, int8: bool) -> list[Node]:
    own, aligned = f"{ids}.projected", f"{ids}.aligned"
    joined = [own, aligned, f"{ids}.distance", f"{ids}.agreement", f"{ids}.matches"]
    return [
        node("Sub", [own, aligned], f"{ids}.difference"),
        node("Abs", [f"{ids}.difference"], f"{ids}.distance"),
        node("Mul", [own, aligned], f"{ids}.agreement"),
        node("Concat", joined, f"{ids}.both", axis=2),
        product(f"{ids}.both", JOIN, f"{ids}.said", int8=int8),
        node("Add", [f"{ids}.said", "compare.join.bias"], f"{ids}.said_shifted"),
        node("Relu", [f"{ids}.said_shifted"], f"{ids}.compared"),
    ]


def _pooled(text: TextNames) -> list[Node]:
    ids = text.ids
    parts = [f"{ids}.{part}" for part in ("mean", "largest", "weighed_overlap", "overlap")]
    return [
        node("Gather", [WORD_WEIGHTS, f"{ids}.words"], f"{ids}.logarithms"),
        node("Softmax", [f"{ids}.logarithms"], f"{ids}.shares", axis=1),
        node("Unsqueeze", [f"{ids}.shares", "axis_1"], f"{ids}.shares_3d"),
        node("MatMul", [f"{ids}.shares_3d", f"{ids}.compared"], f"{ids}.mean"),
        node("Where", [f"{ids}.inside_3d", f"{ids}.compared", "lowest"], f"{ids}.states_inside"),
        node("ReduceMax", [f"{ids}.states_inside", "axis_1"], f"{ids}.largest", keepdims=1),
        node("MatMul", [f"{ids}.shares_3d", f"{ids}.matches"], f"{ids}.weighed_overlap"),
        node("ReduceSum", [f"{ids}.matches", "axis_1"], f"{ids}.match_count", keepdims=1),
        node("Cast", [f"{text.lengths}.column"], f"{ids}.length", to=FLOAT),
        node("Unsqueeze", [f"{ids}.length", "axis_1"], f"{ids}.length_3d"),
        node("Div", [f"{ids}.match_count", f"{ids}.length_3d"], f"{ids}.overlap"),
        node("Concat", parts, f"{ids}.features_3d", axis=2),
        node("Flatten", [f"{ids}.features_3d"], f"{ids}.features", axis=1),
    ]
