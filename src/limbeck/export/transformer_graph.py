"""Transformer students as an ONNX graph, written node by node, in standard operators only.

onnxruntime has fused operators of its own for most of this. Measured on one thread, its SkipLayerNormalization took
three times as long as an Add and a LayerNormalization, and its attention was no faster than the nodes here.
"""

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper
from torch import nn

from limbeck.export.attention_graph import found_by_all, found_by_first, mask
from limbeck.export.draft import Draft
from limbeck.export.encoder_weights import Encoder, Head, Layer, encoder_weights
from limbeck.export.graph_parts import EMBEDDINGS

OPSET, IR_VERSION = 20, 9  # the oldest that have Gelu; every onnxruntime we allow reads them
HEAD = DENSE, LOGITS = "dense", "logits"  # the products behind the layers


def transformer_graph(network: nn.Module, *, pair: bool = False) -> ModelProto:
    """Inputs: input_ids (rows, tokens) int64 and lengths (rows) int32; for pairs, where the network knows types of
    tokens, also type_ids (rows, tokens) int64. Output: logits (rows, classes) float32.

    Rows and tokens are free, as far as the network has positions. What stands behind a row's length is never looked
    at; a length of 0 is read as 1. The classes are read off the first token, so the last layer computes the state of
    that one alone.
    """
    encoder = encoder_weights(network)
    reads_types = pair and encoder.types is not None and len(encoder.types) > 1
    draft = Draft()
    _measure(draft, encoder)
    mask(draft, distances=encoder.distances)
    states = _embedded(draft, encoder, reads_types=reads_types)
    *layers, last = encoder.layers
    for number, layer in enumerate(layers):
        found = found_by_all(draft, layer, states, heads=encoder.heads, name=f"layers.{number}.attention")
        states = _fed_forward(draft, encoder, layer, states, found, name=f"layers.{number}")
    first, name = _first_tokens(draft, states), f"layers.{len(layers)}"
    found = found_by_first(draft, last, states, first, heads=encoder.heads, name=f"{name}.attention")
    _classify(draft, encoder.head, _fed_forward(draft, encoder, last, first, found, name=name))
    return _model(draft, classes=len(encoder.head.classes.bias), reads_types=reads_types)


def _measure(draft: Draft, encoder: Encoder) -> None:
    """→ `shape` (rows, tokens as numbers), `token_count` (1), `places` (tokens), `inside` (rows, tokens)."""
    zero, one = draft.constant("zero", 0), draft.constant("one", 1)
    draft.constant("states_shape", [-1, len(encoder.layers[0].query.weight)])  # of all tokens in one column
    draft.add("Shape", ["input_ids"], "shape")
    draft.add("Shape", ["input_ids"], "token_count", start=1, end=2)
    draft.add("Squeeze", ["token_count"], "end")
    draft.add("Range", [zero, "end", one], "places")
    draft.add("Cast", ["lengths"], "lengths_int64", to=TensorProto.INT64)
    draft.add("Max", ["lengths_int64", one], "positive_lengths")
    draft.add("Unsqueeze", ["positive_lengths", draft.constant("axis_1", [1])], "length_column")
    draft.add("Less", ["places", "length_column"], "inside")


def _embedded(draft: Draft, encoder: Encoder, *, reads_types: bool) -> str:
    """(rows · tokens, width): the normalised sum of the vectors of word, position and type."""
    draft.add("Where", ["inside", "input_ids", "zero"], "words")
    draft.add("Gather", [draft.constant(EMBEDDINGS, encoder.words), "words"], "word_vectors")
    only_type = encoder.types[0] if encoder.types is not None and not reads_types else np.float32(0)
    places = _placed(draft, draft.constant("positions", encoder.positions + only_type), unplaced=encoder.unplaced)
    vectors = draft.add("Add", ["word_vectors", places], "vectors")
    if reads_types and encoder.types is not None:
        draft.add("Where", ["inside", "type_ids", "zero"], "types")
        draft.add("Gather", [draft.constant("type_table", encoder.types), "types"], "type_vectors")
        vectors = draft.add("Add", [vectors, "type_vectors"], "typed_vectors")
    column = draft.add("Reshape", [vectors, draft.constant("vectors_shape", [-1, encoder.words.shape[1]])], "column")
    states = draft.norm(column, encoder.norm, "embedded")
    return states if encoder.projection is None else draft.linear(states, encoder.projection, "projected")


def _placed(draft: Draft, positions: str, *, unplaced: int | None) -> str:
    """The vectors of the tokens' positions: (tokens, width), the same for all rows, if all tokens count."""
    if unplaced is None:
        start = axis = draft.constant("axis_0", [0])
        return draft.add("Slice", [positions, start, "token_count", axis], "position_vectors")
    draft.add("Equal", ["words", draft.constant("unplaced", unplaced)], "is_unplaced")
    draft.add("Where", ["is_unplaced", "zero", "one"], "counts")
    draft.add("CumSum", ["counts", "one"], "counted")  # along axis 1
    draft.add("Mul", ["counted", "counts"], "positions_of_tokens")
    return draft.add("Gather", [positions, "positions_of_tokens"], "position_vectors")


def _first_tokens(draft: Draft, states: str) -> str:
    """(rows · tokens, width) → (rows, width)."""
    draft.add("Concat", ["shape", draft.constant("the_rest", [-1])], "shape_by_row", axis=0)
    draft.add("Reshape", [states, "shape_by_row"], "states_by_row")
    return draft.add("Gather", ["states_by_row", "zero"], "first_tokens", axis=1)


def _fed_forward(draft: Draft, encoder: Encoder, layer: Layer, states: str, found: str, *, name: str) -> str:
    """States, and what attention found for them → the layer's states."""
    draft.add("Add", [draft.linear(found, layer.attended, f"{name}.attended"), states], f"{name}.attended_sum")
    middle = draft.norm(f"{name}.attended_sum", layer.attended_norm, f"{name}.middle")
    inner = draft.linear(middle, layer.inner, f"{name}.inner")
    active = draft.activation(inner, encoder.activation, f"{name}.active")
    draft.add("Add", [draft.linear(active, layer.outer, f"{name}.outer"), middle], f"{name}.outer_sum")
    return draft.norm(f"{name}.outer_sum", layer.outer_norm, f"{name}.states")


def _classify(draft: Draft, head: Head, states: str) -> None:
    """The first tokens' states → `logits`."""
    active = draft.activation(draft.linear(states, head.dense, DENSE), head.activation, "active")
    draft.linear(active, head.classes, LOGITS)


def _model(draft: Draft, *, classes: int, reads_types: bool) -> ModelProto:
    ids = ["input_ids", "type_ids"] if reads_types else ["input_ids"]
    graph = helper.make_graph(
        draft.nodes,
        "transformer",
        inputs=[
            *(helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"]) for name in ids),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["rows"]),
        ],
        outputs=[helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, ["rows", classes])],
        initializer=[numpy_helper.from_array(array, name) for name, array in draft.arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model
