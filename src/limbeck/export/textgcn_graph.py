"""The table of a graph convolution as an ONNX graph: it reads text like every other student."""

import numpy as np
from onnx import ModelProto, NodeProto

from limbeck.export.graph_parts import EMBEDDINGS, Arrays, Text, node, numpy_of, one_more_row, word_graph
from limbeck.models.textgcn import TINY, TextGcnForSequenceClassification

RARITY, SMALLEST = "rarity", "smallest_sum"


def textgcn_graph(student: TextGcnForSequenceClassification) -> ModelProto:
    """The graph of `word_graph`. Words outside a row have the rarity 0."""
    arrays: Arrays = {
        RARITY: one_more_row(numpy_of(student.rarity.weight[:, 0]), 0.0),
        SMALLEST: np.array(TINY, dtype=np.float32),
    }
    return word_graph(student, name="textgcn", read=_sum, arrays=arrays)


def _sum(text: Text) -> list[NodeProto]:
    """→ `.features` (rows, width): Σ rᵢ·hᵢ / √Σ rᵢ."""
    ids = text.ids
    return [
        node("Gather", [RARITY, f"{ids}.words"], f"{ids}.rarity"),  # (rows, tokens), zeros outside
        node("Gather", [EMBEDDINGS, f"{ids}.words"], f"{ids}.vectors"),  # (rows, tokens, width), zeros outside
        node("ReduceSum", [f"{ids}.rarity", "axis_1"], f"{ids}.degree", keepdims=1),  # (rows, 1)
        node("Max", [f"{ids}.degree", SMALLEST], f"{ids}.positive_degree"),
        node("Sqrt", [f"{ids}.positive_degree"], f"{ids}.root"),
        node("Div", [f"{ids}.rarity", f"{ids}.root"], f"{ids}.weights"),
        node("Unsqueeze", [f"{ids}.weights", "axis_1"], f"{ids}.weights_3d"),  # (rows, 1, tokens)
        node("MatMul", [f"{ids}.weights_3d", f"{ids}.vectors"], f"{ids}.sum"),  # (rows, 1, width)
        node("Flatten", [f"{ids}.sum"], f"{ids}.features", axis=1),
    ]
