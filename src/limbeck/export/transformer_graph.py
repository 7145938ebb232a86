"""Transformer students as an ONNX graph, built node by node from standard operators only.

onnxruntime has its own fused operators for most of this. Measured on one thread, its SkipLayerNormalization took
three times as long as an Add and a LayerNormalization, and its attention was no faster than the nodes here.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from torch import nn

from limbeck.export.encoder_parts import Array, EncoderWeights, Head, Layer, Linear, Norm, Waves
from limbeck.export.encoder_weights import encoder_weights
from limbeck.export.graph_parts import EMBEDDINGS, LOWEST, Arrays, node
from limbeck.export.relative_scores import prepare_distances, with_distances

OPSET, IR_VERSION = 20, 9  # the oldest that have Gelu; all supported onnxruntimes read them
HEAD = DENSE, LOGITS = "dense", "logits"  # the products after the layers
# Activations by their names in transformers, as ONNX operators.
ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "gelu": ("Gelu", {"approximate": "none"}),
    "gelu_python": ("Gelu", {"approximate": "none"}),
    "gelu_new": ("Gelu", {"approximate": "tanh"}),
    "gelu_fast": ("Gelu", {"approximate": "tanh"}),
    "gelu_pytorch_tanh": ("Gelu", {"approximate": "tanh"}),
    "relu": ("Relu", {}),
    "tanh": ("Tanh", {}),
}


class GraphBuilder:
    """A graph in the making. Every method adds something and returns its name, for later nodes to use."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.arrays: Arrays = {}

    def add(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        """A node with one output."""
        self.nodes.append(node(kind, inputs, output, **attributes))
        return output

    def split(self, states: str, sizes: list[int], name: str, *, axis: int) -> list[str]:
        """The parts of an axis, of these sizes, in order."""
        parts = [f"{name}.{number}" for number in range(len(sizes))]
        cuts = self.constant(f"{name}.sizes", sizes)
        self.nodes.append(helper.make_node("Split", [states, cuts], parts, name=name, axis=axis))
        return parts

    def constant(self, name: str, values: npt.NDArray[np.generic] | list[int] | int | float) -> str:
        """Integers are int64, other numbers float32. The same constant may be added several times."""
        array = np.asarray(values)
        self.arrays[name] = array.astype(np.float32) if array.dtype == np.float64 else array
        return name

    def linear(self, states: str, layer: Linear, output: str, *, stored: str = "") -> str:
        """(any, inputs) → (any, outputs). `stored` is the name of the weights; default: that of the output."""
        name = stored or output
        weight, bias = self.constant(f"{name}.weight", layer.weight), self.constant(f"{name}.bias", layer.bias)
        return self.add("Gemm", [states, weight, bias], output)

    def norm(self, states: str, layer: Norm, output: str, *, stored: str = "") -> str:
        """Layer normalisation over the last axis. `stored` as for `linear`."""
        name = stored or output
        scale, shift = self.constant(f"{name}.scale", layer.scale), self.constant(f"{name}.shift", layer.shift)
        return self.add("LayerNormalization", [states, scale, shift], output, axis=-1, epsilon=layer.epsilon)

    def activation(self, states: str, name: str, output: str) -> str:
        """An activation, by its name in transformers. Raises ValueError for one that has no ONNX operator here."""
        if name not in ACTIVATIONS:
            raise ValueError(f"there is no graph for the activation '{name}', only for {', '.join(ACTIVATIONS)}")
        kind, attributes = ACTIVATIONS[name]
        return self.add(kind, [states], output, **attributes)


def transformer_graph(network: nn.Module, *, pair: bool = False) -> ModelProto:
    """Inputs: input_ids (rows, tokens) int64 and lengths (rows) int32; for pairs, if the network has token types, also
    type_ids (rows, tokens) int64. Output: logits (rows, classes) float32.

    The numbers of rows and tokens may vary, up to the network's positions. Ids after a row's length are never used; a
    length of 0 is read as 1. If the classifier reads the first token, the last layer computes only that state.
    """
    encoder = encoder_weights(network)
    has_types = encoder.types is not None and len(encoder.types) > 1
    reads_types = pair and (has_types or isinstance(encoder.layers[0].relative, Waves))
    draft = GraphBuilder()
    _measure(draft, encoder)
    mask(draft, distances=encoder.distances)
    prepare_distances(draft, encoder, reads_types=reads_types)
    states = _embedded(draft, encoder, reads_types=reads_types)
    reads = encoder.head.reads
    full = encoder.layers[:-1] if reads == "first" else encoder.layers
    for number, layer in enumerate(full):
        found = attended_by_all(draft, encoder, layer, states, name=f"layers.{number}.attention")
        states = _fed_forward(draft, encoder, layer, states, found, name=f"layers.{number}")
    if reads == "first":
        first, name = _first_tokens(draft, states), f"layers.{len(full)}"
        last = encoder.layers[-1]
        found = attended_by_first(draft, encoder, last, states, first, name=f"{name}.attention")
        states = _fed_forward(draft, encoder, last, first, found, name=name)
    else:
        states = _mean_state(draft, states) if reads == "mean" else _last_state(draft, states)
    _classify(draft, encoder.head, states)
    return _model(draft, classes=len(encoder.head.classes.bias), reads_types=reads_types)


def _measure(draft: GraphBuilder, encoder: EncoderWeights) -> None:
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


def _embedded(draft: GraphBuilder, encoder: EncoderWeights, *, reads_types: bool) -> str:
    """(rows · tokens, width): the normalised sum of the vectors of word, position and type."""
    draft.add("Where", ["inside", "input_ids", "zero"], "words")
    draft.add("Gather", [draft.constant(EMBEDDINGS, encoder.words), "words"], "word_vectors")
    vectors = _with_places(draft, encoder, only_type=not reads_types)
    if reads_types and encoder.types is not None:
        draft.add("Where", ["inside", "type_ids", "zero"], "types")
        draft.add("Gather", [draft.constant("type_table", encoder.types), "types"], "type_vectors")
        vectors = draft.add("Add", [vectors, "type_vectors"], "typed_vectors")
    column = draft.add("Reshape", [vectors, draft.constant("vectors_shape", [-1, encoder.words.shape[1]])], "column")
    if encoder.projection is not None and encoder.projects_first:
        column = draft.linear(column, encoder.projection, "projected")
    states = column if encoder.norm is None else draft.norm(column, encoder.norm, "embedded")
    if encoder.projection is None or encoder.projects_first:
        return states
    return draft.linear(states, encoder.projection, "projected")


def _with_places(draft: GraphBuilder, encoder: EncoderWeights, *, only_type: bool) -> str:
    """The word vectors with those of their positions, if there are any, and of the first type if it is the only one."""
    first_type = encoder.types[0] if encoder.types is not None and only_type else None
    if encoder.positions is not None:
        table = encoder.positions if first_type is None else encoder.positions + first_type
        places = _placed(draft, draft.constant("positions", table), unplaced=encoder.unplaced)
        return draft.add("Add", ["word_vectors", places], "vectors")
    if first_type is not None:
        return draft.add("Add", ["word_vectors", draft.constant("first_type", first_type)], "vectors")
    return "word_vectors"


def _placed(draft: GraphBuilder, positions: str, *, unplaced: int | None) -> str:
    """The position vectors of the tokens: (tokens, width), the same for all rows, if all tokens are counted."""
    if unplaced is None:
        start = axis = draft.constant("axis_0", [0])
        return draft.add("Slice", [positions, start, "token_count", axis], "position_vectors")
    draft.add("Equal", ["words", draft.constant("unplaced", unplaced)], "is_unplaced")
    draft.add("Where", ["is_unplaced", "zero", "one"], "counts")
    draft.add("CumSum", ["counts", "one"], "counted")  # along axis 1
    draft.add("Mul", ["counted", "counts"], "positions_of_tokens")
    return draft.add("Gather", [positions, "positions_of_tokens"], "position_vectors")


def _first_tokens(draft: GraphBuilder, states: str) -> str:
    """(rows · tokens, width) → (rows, width)."""
    draft.add("Concat", ["shape", draft.constant("the_rest", [-1])], "shape_by_row", axis=0)
    draft.add("Reshape", [states, "shape_by_row"], "states_by_row")
    return draft.add("Gather", ["states_by_row", "zero"], "first_tokens", axis=1)


def _mean_state(draft: GraphBuilder, states: str) -> str:
    """(rows · tokens, width) → (rows, width): the mean over the tokens of each row within its length."""
    draft.add("Concat", ["shape", draft.constant("the_rest", [-1])], "shape_by_row", axis=0)
    draft.add("Reshape", [states, "shape_by_row"], "states_by_row")
    draft.add("Unsqueeze", ["inside", draft.constant("axis_2", [2])], "inside_3d")
    draft.add("Where", ["inside_3d", "states_by_row", draft.constant("nothing", 0.0)], "states_inside")
    draft.add("ReduceSum", ["states_inside", draft.constant("axis_1", [1])], "sum_of_states", keepdims=0)
    draft.add("Cast", ["length_column"], "lengths_float", to=TensorProto.FLOAT)
    return draft.add("Div", ["sum_of_states", "lengths_float"], "mean_state")


def _last_state(draft: GraphBuilder, states: str) -> str:
    """(rows · tokens, width) → (rows, width): the state of the last token of each row within its length."""
    draft.add("Concat", ["shape", draft.constant("the_rest", [-1])], "shape_by_row", axis=0)
    draft.add("Reshape", [states, "shape_by_row"], "states_by_row")
    draft.add("Unsqueeze", ["is_last", draft.constant("axis_2", [2])], "is_last_3d")
    draft.add("Where", ["is_last_3d", "states_by_row", draft.constant("nothing", 0.0)], "last_alone")
    return draft.add("ReduceSum", ["last_alone", draft.constant("axis_1", [1])], "last_state", keepdims=0)


def _fed_forward(
    draft: GraphBuilder, encoder: EncoderWeights, layer: Layer, states: str, attended: str, *, name: str
) -> str:
    """States, and the result of attention for them → the layer's states."""
    own = layer.stored or name
    found = draft.linear(attended, layer.attended, f"{name}.attended", stored=f"{own}.attended")
    draft.add("Add", [found, states], f"{name}.attended_sum")
    middle = draft.norm(f"{name}.attended_sum", layer.attended_norm, f"{name}.middle", stored=f"{own}.middle")
    inner = draft.linear(middle, layer.inner, f"{name}.inner", stored=f"{own}.inner")
    active = draft.activation(inner, encoder.activation, f"{name}.active")
    outer = draft.linear(active, layer.outer, f"{name}.outer", stored=f"{own}.outer")
    draft.add("Add", [outer, middle], f"{name}.outer_sum")
    return draft.norm(f"{name}.outer_sum", layer.outer_norm, f"{name}.states", stored=f"{own}.states")


def _classify(draft: GraphBuilder, head: Head, states: str) -> None:
    """What the head reads → `logits`."""
    if head.dense is not None:
        states = draft.activation(draft.linear(states, head.dense, DENSE), head.activation, "active")
    draft.linear(states, head.classes, LOGITS)


def _model(draft: GraphBuilder, *, classes: int, reads_types: bool) -> ModelProto:
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


def mask(draft: GraphBuilder, *, distances: Array | None) -> None:
    """`inside` (rows, tokens) and `places` (tokens) → `mask` (rows, 1 or heads, 1 or tokens, tokens).

    It is added to the scores of every layer.
    """
    draft.add("Unsqueeze", ["inside", draft.constant("axes_1_2", [1, 2])], "inside_4d")
    seen = draft.constant("seen", 0.0) if distances is None else _by_distance(draft, distances)
    draft.add("Where", ["inside_4d", seen, draft.constant("unseen", LOWEST)], "mask")


def _by_distance(draft: GraphBuilder, distances: Array) -> str:
    """(heads, query tokens, tokens): added to a score, by the distance from the query's token to the key's."""
    draft.add("Unsqueeze", ["places", draft.constant("axis_1", [1])], "asking_places")
    draft.add("Sub", ["places", "asking_places"], "distance")
    draft.add("Add", ["distance", draft.constant("no_distance", distances.shape[1] // 2)], "distance_column")
    return draft.add("Gather", [draft.constant("distances", distances), "distance_column"], "by_distance", axis=1)


def attended_by_all(draft: GraphBuilder, encoder: EncoderWeights, layer: Layer, states: str, *, name: str) -> str:
    """(rows · tokens, width) → (rows · tokens, width), all heads side by side."""
    heads = encoder.heads
    parts = {"query": _scaled(encoder, layer), "key": layer.key, "value": layer.value}
    queries, keys, values = _by_head(draft, parts, states, heads, name, stored=layer.stored)
    return _attended(draft, layer, queries, keys, values, of_first=False, name=name)


def attended_by_first(
    draft: GraphBuilder, encoder: EncoderWeights, layer: Layer, states: str, first_tokens: str, *, name: str
) -> str:
    """(rows · tokens, width), and (rows, width) of the first tokens → (rows, width)."""
    heads = encoder.heads
    stored = f"{layer.stored}.query" if layer.stored else ""
    query = draft.linear(first_tokens, _scaled(encoder, layer), f"{name}.query", stored=stored)
    one_each = draft.constant(f"{name}.one_each", [-1, heads, 1, len(layer.query.bias) // heads])
    queries = draft.add("Reshape", [query, one_each], f"{name}.queries")
    keys, values = _by_head(draft, {"key": layer.key, "value": layer.value}, states, heads, name, stored=layer.stored)
    draft.add("Gather", ["mask", draft.constant("first_place", [0])], "mask_of_first", axis=2)
    return _attended(draft, layer, queries, keys, values, of_first=True, name=name)


def _scaled(encoder: EncoderWeights, layer: Layer) -> Linear:
    """The query with the scale of all scores, 1 / √(width of a head · products in a score), in its weights."""
    factor = np.float32((len(layer.query.bias) // encoder.heads * encoder.score_terms) ** -0.5)
    return Linear(layer.query.weight * factor, layer.query.bias * factor)


def _by_head(
    draft: GraphBuilder, parts: Mapping[str, Linear], states: str, heads: int, name: str, *, stored: str
) -> list[str]:
    """Each part as (rows, heads, tokens, width of a head); one product for all of them, or one for each where layers
    share their weights: the last layer has no product for all queries, and would need weights of its own."""
    if stored:
        return [
            _one_by_head(draft, draft.linear(states, part, f"{name}.{one}", stored=f"{stored}.{one}"), part, heads)
            for one, part in parts.items()
        ]
    weights, biases = [part.weight for part in parts.values()], [part.bias for part in parts.values()]
    joined = draft.linear(states, Linear(np.concatenate(weights, axis=1), np.concatenate(biases)), f"{name}.joined")
    split_up = draft.constant(f"{name}.split_up", [len(parts) * heads, len(biases[0]) // heads])
    shape = draft.add("Concat", ["shape", split_up], f"{name}.shape", axis=0)
    draft.add("Reshape", [joined, shape], f"{name}.by_token")
    draft.add("Transpose", [f"{name}.by_token"], f"{name}.by_head", perm=[0, 2, 1, 3])
    return draft.split(f"{name}.by_head", [heads] * len(parts), f"{name}.parts", axis=1)


def _one_by_head(draft: GraphBuilder, states: str, part: Linear, heads: int) -> str:
    """(rows · tokens, width) → (rows, heads, tokens, width of a head)."""
    split_up = draft.constant(f"{states}.split_up", [heads, len(part.bias) // heads])
    shape = draft.add("Concat", ["shape", split_up], f"{states}.shape", axis=0)
    draft.add("Reshape", [states, shape], f"{states}.by_token")
    return draft.add("Transpose", [f"{states}.by_token"], f"{states}.by_head", perm=[0, 2, 1, 3])


def _attended(
    draft: GraphBuilder, layer: Layer, queries: str, keys: str, values: str, *, of_first: bool, name: str
) -> str:
    """softmax(queries · keysᵀ + what distances add + mask) · values, all heads side by side."""
    draft.add("Transpose", [keys], f"{name}.keys_turned", perm=[0, 1, 3, 2])
    draft.add("MatMul", [queries, f"{name}.keys_turned"], f"{name}.scores")  # (rows, heads, query tokens, tokens)
    scores = with_distances(draft, layer.relative, queries, keys, f"{name}.scores", of_first=of_first, name=name)
    draft.add("Add", [scores, "mask_of_first" if of_first else "mask"], f"{name}.masked")
    draft.add("Softmax", [f"{name}.masked"], f"{name}.shares", axis=-1)
    draft.add("MatMul", [f"{name}.shares", values], f"{name}.found_by_head")
    draft.add("Transpose", [f"{name}.found_by_head"], f"{name}.found_by_token", perm=[0, 2, 1, 3])
    return draft.add("Reshape", [f"{name}.found_by_token", "states_shape"], f"{name}.found")
