"""The bag-of-words student as an ONNX graph."""

import numpy as np
from onnx import ModelProto, NodeProto

from limbeck.export.comparison_graph import JOIN, PROJECT, compared, comparison_arrays, pooled
from limbeck.export.graph_parts import (
    EMBEDDINGS,
    FIRST,
    LOWEST,
    SECOND,
    Arrays,
    Text,
    node,
    numpy_of,
    one_more_row,
    word_graph,
)
from limbeck.export.int8 import int8_graph
from limbeck.models.bag import BagForSequenceClassification

WORD_WEIGHTS = "word_weights"  # (words), as logarithms


def bag_graph(student: BagForSequenceClassification) -> ModelProto:
    """The graph of `word_graph`.

    The weights stay logarithms, and a softmax normalises them. It is one node, and numerically safe for any weights;
    exponentials multiplied into the vectors beforehand could overflow, or underflow for a complete text.
    """
    if student.comparison is not None:
        together = [*compared(), *(part for text in (FIRST, SECOND) for part in pooled(text, f"{text.ids}.compared"))]
        arrays = comparison_arrays(student.comparison)
        return word_graph(student, name="bag", read=_word_states, arrays=arrays, together=together)
    weighted = student.word_weights is not None

    def read(text: Text) -> list[NodeProto]:
        return [*_logarithms(text.ids, weighted=weighted), *_mean(text.ids)]

    return word_graph(student, name="bag", read=read, arrays=_arrays(student))


def bag_int8(graph: ModelProto) -> ModelProto:
    """The graph quantised to int8."""
    return int8_graph(graph, matrices=(PROJECT, JOIN))


def _word_states(text: Text) -> list[NodeProto]:
    """Words → `.word_states` (rows, tokens, width): their vectors, zeros outside."""
    return [node("Gather", [EMBEDDINGS, f"{text.ids}.words"], f"{text.ids}.word_states")]


def _logarithms(ids: str, *, weighted: bool) -> list[NodeProto]:
    """Words → `.logarithms` (rows, tokens) of their weights; outside a row the lowest number, which has weight 0."""
    if weighted:
        return [node("Gather", [WORD_WEIGHTS, f"{ids}.words"], f"{ids}.logarithms")]
    return [node("Where", [f"{ids}.inside", "like_all_others", "no_weight"], f"{ids}.logarithms")]


def _mean(ids: str) -> list[NodeProto]:
    """→ `.features` (rows, width): Σ exp(wᵢ)·vᵢ / Σ exp(wᵢ)."""
    return [
        node("Gather", [EMBEDDINGS, f"{ids}.words"], f"{ids}.vectors"),  # (rows, tokens, width), zeros outside
        node("Softmax", [f"{ids}.logarithms"], f"{ids}.shares", axis=1),
        node("Unsqueeze", [f"{ids}.shares", "axis_1"], f"{ids}.shares_3d"),  # (rows, 1, tokens)
        node("MatMul", [f"{ids}.shares_3d", f"{ids}.vectors"], f"{ids}.mean"),  # (rows, 1, width)
        node("Flatten", [f"{ids}.mean"], f"{ids}.features", axis=1),
    ]


def _arrays(student: BagForSequenceClassification) -> Arrays:
    """The constants of the nodes above, by name."""
    if student.word_weights is None:
        return {
            "like_all_others": np.array(0.0, dtype=np.float32),
            "no_weight": np.array(LOWEST, dtype=np.float32),
        }
    return {WORD_WEIGHTS: one_more_row(numpy_of(student.word_weights.weight[:, 0]), LOWEST)}
