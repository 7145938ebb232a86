"""The student of n-grams as an ONNX graph."""

from onnx import ModelProto, NodeProto

from limbeck.export.bag_graph import WORD_WEIGHTS
from limbeck.export.graph_parts import EMBEDDINGS, LOWEST, Arrays, Text, node, numpy_of, one_more_row, word_graph
from limbeck.models.ngrams import NgramsForSequenceClassification


def ngrams_graph(student: NgramsForSequenceClassification) -> ModelProto:
    """The graph of `word_graph`. As in a bag, the weights stay logarithms: a softmax of them is safe for any weights,
    and dividing by its length gives what dividing the exponentials by theirs would."""
    weights: Arrays = {WORD_WEIGHTS: one_more_row(numpy_of(student.word_weights.weight[:, 0]), LOWEST)}
    return word_graph(student, name="ngrams", read=_sum, arrays=weights)


def _sum(text: Text) -> list[NodeProto]:
    """→ `.features` (rows, width): Σ exp(wᵢ)·vᵢ / √Σ exp(2wᵢ)."""
    ids = text.ids
    return [
        node("Gather", [WORD_WEIGHTS, f"{ids}.words"], f"{ids}.logarithms"),  # (rows, tokens), the lowest outside
        node("Gather", [EMBEDDINGS, f"{ids}.words"], f"{ids}.vectors"),  # (rows, tokens, width), zeros outside
        node("Softmax", [f"{ids}.logarithms"], f"{ids}.shares", axis=1),
        node("ReduceL2", [f"{ids}.shares", "axis_1"], f"{ids}.length", keepdims=1),  # (rows, 1)
        node("Div", [f"{ids}.shares", f"{ids}.length"], f"{ids}.weights"),
        node("Unsqueeze", [f"{ids}.weights", "axis_1"], f"{ids}.weights_3d"),  # (rows, 1, tokens)
        node("MatMul", [f"{ids}.weights_3d", f"{ids}.vectors"], f"{ids}.sum"),  # (rows, 1, width)
        node("Flatten", [f"{ids}.sum"], f"{ids}.features", axis=1),
    ]
