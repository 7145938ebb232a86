"""Two texts compared word by word, as nodes of an ONNX graph."""

import math

import numpy as np
from onnx import NodeProto, TensorProto

from limbeck.export.graph_parts import FIRST, LOWEST, SECOND, Arrays, Text, node, numpy_of, one_more_row
from limbeck.models.comparison import LAST_SPECIAL, SAME_WORD, Comparison

PROJECT, JOIN = "compare.project.weight", "compare.join.weight"  # (inputs, outputs)
WORD_WEIGHTS = "compare.word_weights"  # (words), as logarithms


def compared() -> list[NodeProto]:
    """`{ids}.word_states` (rows, tokens, width) of both texts → `{ids}.compared` (rows, tokens, size) and
    `{ids}.matches` (rows, tokens, 1) of both."""
    one, other = FIRST.ids, SECOND.ids
    return [
        *(part for text in (FIRST, SECOND) for part in _projected(text)),
        *_same_words(one, other),
        node("Transpose", [f"{other}.projected"], f"{other}.turned", perm=[0, 2, 1]),
        node("MatMul", [f"{one}.projected", f"{other}.turned"], "products"),  # (rows, tokens, pair_tokens)
        node("Mul", ["products", "compare.scale"], "likeness"),
        node("Mul", ["same", "compare.same_word"], "sameness"),
        node("Add", ["likeness", "sameness"], "relevance"),
        node("Transpose", ["relevance"], "relevance_back", perm=[0, 2, 1]),
        *_aligned(FIRST, SECOND, relevance="relevance"),
        *_aligned(SECOND, FIRST, relevance="relevance_back"),
        node("ReduceMax", ["same", "axis_2"], f"{one}.matches", keepdims=1),
        node("Transpose", ["same"], "same_back", perm=[0, 2, 1]),
        node("ReduceMax", ["same_back", "axis_2"], f"{other}.matches", keepdims=1),
        *(part for text in (FIRST, SECOND) for part in _joined(text.ids)),
    ]


def pooled(text: Text, states: str) -> list[NodeProto]:
    """The composed states (rows, tokens, width) of a text → its `.features`."""
    ids = text.ids
    return [
        node("Gather", [WORD_WEIGHTS, f"{ids}.words"], f"{ids}.logarithms"),  # the lowest number outside a row
        node("Softmax", [f"{ids}.logarithms"], f"{ids}.shares", axis=1),
        node("Unsqueeze", [f"{ids}.shares", "axis_1"], f"{ids}.shares_3d"),  # (rows, 1, tokens)
        node("MatMul", [f"{ids}.shares_3d", states], f"{ids}.mean"),  # (rows, 1, width)
        node("Where", [f"{ids}.inside_3d", states, "lowest"], f"{ids}.states_inside"),
        node("ReduceMax", [f"{ids}.states_inside", "axis_1"], f"{ids}.largest", keepdims=1),
        node("MatMul", [f"{ids}.shares_3d", f"{ids}.matches"], f"{ids}.weighed_overlap"),  # (rows, 1, 1)
        node("ReduceSum", [f"{ids}.matches", "axis_1"], f"{ids}.match_count", keepdims=1),
        node("Cast", [f"{text.lengths}.column"], f"{ids}.length", to=TensorProto.FLOAT),
        node("Unsqueeze", [f"{ids}.length", "axis_1"], f"{ids}.length_3d"),
        node("Div", [f"{ids}.match_count", f"{ids}.length_3d"], f"{ids}.overlap"),
        node(
            "Concat",
            [f"{ids}.{part}" for part in ("mean", "largest", "weighed_overlap", "overlap")],
            f"{ids}.features_3d",
            axis=2,
        ),
        node("Flatten", [f"{ids}.features_3d"], f"{ids}.features", axis=1),
    ]


def comparison_arrays(comparison: Comparison) -> Arrays:
    """The constants of the nodes above, by name."""
    size = comparison.project.out_features
    return {
        PROJECT: numpy_of(comparison.project.weight.T),
        "compare.project.bias": numpy_of(comparison.project.bias),
        JOIN: numpy_of(comparison.join.weight.T),
        "compare.join.bias": numpy_of(comparison.join.bias),
        "compare.scale": np.array(1 / math.sqrt(size), dtype=np.float32),
        "compare.same_word": numpy_of(SAME_WORD + comparison.same_word),
        WORD_WEIGHTS: one_more_row(numpy_of(comparison.word_weights.weight[:, 0]), LOWEST),
        "last_special": np.array(LAST_SPECIAL),
        "lowest": np.array(LOWEST, dtype=np.float32),
        "axis_2": np.array([2]),
    }


def _projected(text: Text) -> list[NodeProto]:
    ids = text.ids
    return [
        node("Unsqueeze", [f"{ids}.inside", "axis_2"], f"{ids}.inside_3d"),  # (rows, tokens, 1)
        node("Unsqueeze", [f"{ids}.inside", "axis_1"], f"{ids}.inside_across"),  # (rows, 1, tokens)
        node("MatMul", [f"{ids}.word_states", PROJECT], f"{ids}.products"),
        node("Add", [f"{ids}.products", "compare.project.bias"], f"{ids}.shifted"),
        node("Relu", [f"{ids}.shifted"], f"{ids}.projected"),
    ]


def _same_words(one: str, other: str) -> list[NodeProto]:
    """`.words` of both → `same` (rows, tokens, pair_tokens): 1 where they are the same known word, else 0."""
    return [
        node("Greater", [f"{one}.words", "last_special"], f"{one}.known"),
        node("And", [f"{one}.known", f"{one}.inside"], f"{one}.known_inside"),
        node("Unsqueeze", [f"{one}.known_inside", "axis_2"], f"{one}.known_3d"),
        node("Unsqueeze", [f"{one}.words", "axis_2"], f"{one}.words_down"),
        node("Unsqueeze", [f"{other}.words", "axis_1"], f"{other}.words_across"),
        node("Equal", [f"{one}.words_down", f"{other}.words_across"], "equal"),
        node("And", ["equal", f"{one}.known_3d"], "equal_inside"),  # outside of the other text no word is like these
        node("Cast", ["equal_inside"], "same", to=TensorProto.FLOAT),
    ]


def _aligned(text: Text, other: Text, *, relevance: str) -> list[NodeProto]:
    """→ `.aligned` (rows, tokens, size): for each word the mean of the other text's, by their relevance."""
    ids = text.ids
    return [
        node("Where", [f"{other.ids}.inside_across", relevance, "lowest"], f"{ids}.relevance"),
        node("Softmax", [f"{ids}.relevance"], f"{ids}.attention", axis=2),
        node("MatMul", [f"{ids}.attention", f"{other.ids}.projected"], f"{ids}.aligned"),
    ]


def _joined(ids: str) -> list[NodeProto]:
    own, aligned = f"{ids}.projected", f"{ids}.aligned"
    return [
        node("Sub", [own, aligned], f"{ids}.difference"),
        node("Abs", [f"{ids}.difference"], f"{ids}.distance"),
        node("Mul", [own, aligned], f"{ids}.agreement"),
        node(
            "Concat",
            [own, aligned, f"{ids}.distance", f"{ids}.agreement", f"{ids}.matches"],
            f"{ids}.both",
            axis=2,
        ),
        node("MatMul", [f"{ids}.both", JOIN], f"{ids}.said"),
        node("Add", [f"{ids}.said", "compare.join.bias"], f"{ids}.said_shifted"),
        node("Relu", [f"{ids}.said_shifted"], f"{ids}.compared"),
    ]
