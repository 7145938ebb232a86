"""Parts of a transformer's graph that add to the score of two tokens what their distance says: DeBERTa's and XLNet's.

Both look up products by distance: first every query is multiplied with the vectors of all distances, then the product
of the pair's own distance is picked.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from limbeck.export.encoder_parts import Array, Distances, EncoderWeights, Waves

if TYPE_CHECKING:  # the graph of the layers calls this file
    from limbeck.export.transformer_graph import GraphBuilder

LONGEST_WAVE = 10_000.0
TYPE_OF_LAST = 2  # of XLNet's last token, which its tokenizer sets for single texts too
BY_HEAD = "by_head"


def prepare_distances(draft: "GraphBuilder", encoder: EncoderWeights, *, reads_types: bool) -> None:
    """→ `entry` (tokens, tokens): which product a query picks for a key; for XLNet also `waves` (2 · tokens, width) and
    `differs` (rows, 1, tokens, tokens)."""
    relative = encoder.layers[0].relative
    if relative is None:
        return
    draft.add("Unsqueeze", ["places", draft.constant("axis_1", [1])], "asking_places")
    draft.add("Sub", ["asking_places", "places"], "distance")  # from the key to the query
    if encoder.entries is not None:
        draft.add("Add", ["distance", draft.constant("no_distance", len(encoder.entries) // 2)], "distance_column")
        draft.add("Gather", [draft.constant("entries", encoder.entries), "distance_column"], "entry")
        return
    draft.add("Add", ["distance", "end"], "entry")
    _waves(draft, width=len(encoder.layers[0].query.weight))
    _differs(draft, reads_types=reads_types)


def _waves(draft: "GraphBuilder", *, width: int) -> None:
    """Sines, then cosines, of the distances from -tokens to tokens - 1."""
    frequencies: npt.NDArray[np.float32] = (LONGEST_WAVE ** (-np.arange(0, width, 2) / width)).astype(np.float32)
    draft.add("Neg", ["end"], "first_distance")
    draft.add("Range", ["first_distance", "end", "one"], "distances_in_turn")
    draft.add("Cast", ["distances_in_turn"], "distances_float", to=TensorProto.FLOAT)
    draft.add("Unsqueeze", ["distances_float", draft.constant("axis_1", [1])], "distances_alone")
    draft.add("Mul", ["distances_alone", draft.constant("frequencies", frequencies)], "angles")
    draft.add(
        "Concat", [draft.add("Sin", ["angles"], "sines"), draft.add("Cos", ["angles"], "cosines")], "waves", axis=1
    )


def _differs(draft: "GraphBuilder", *, reads_types: bool) -> None:
    """Whether two tokens have different types. Of single texts only the last token has another."""
    draft.add("Sub", ["length_column", "one"], "last_places")
    draft.add("Equal", ["places", "last_places"], "is_last")  # (rows, tokens)
    types = "type_ids"
    if not reads_types:
        types = draft.add("Where", ["is_last", draft.constant("type_of_last", TYPE_OF_LAST), "zero"], "types")
    draft.add("Unsqueeze", [types, draft.constant("axes_1_2", [1, 2])], "types_of_keys")
    draft.add("Unsqueeze", [types, draft.constant("axes_1_3", [1, 3])], "types_of_queries")
    draft.add("Not", [draft.add("Equal", ["types_of_queries", "types_of_keys"], "is_same_type")], "differs")


def with_distances(
    draft: "GraphBuilder",
    relative: Distances | Waves | None,
    queries: str,
    keys: str,
    scores: str,
    *,
    of_first: bool,
    name: str,
) -> str:
    """The scores (rows, heads, query tokens, tokens) with what the layer says of distances; `of_first`: the only query
    is that of the first token."""
    match relative:
        case None:
            return scores
        case Distances():
            return _of_distances(draft, relative, queries, keys, scores, of_first=of_first, name=name)
        case Waves():
            return _of_waves(draft, relative, queries, scores, name=name)


def _of_distances(
    draft: "GraphBuilder", layer: Distances, queries: str, keys: str, scores: str, *, of_first: bool, name: str
) -> str:
    entry = (
        draft.add("Gather", ["entry", draft.constant("first_place", [0])], "entry_of_first") if of_first else "entry"
    )
    draft.add("Expand", [entry, draft.add("Shape", [scores], f"{name}.scores_shape")], f"{name}.entries")
    found = scores
    if layer.keys is not None:
        products = _products(draft, queries, layer.keys, f"{name}.of_keys")
        picked = draft.add("GatherElements", [products, f"{name}.entries"], f"{name}.asked", axis=3)
        found = draft.add("Add", [found, picked], f"{name}.with_asked")
    if layer.queries is not None:
        turned = draft.add("Transpose", [f"{name}.entries"], f"{name}.entries_turned", perm=[0, 1, 3, 2])
        products = _products(draft, keys, layer.queries, f"{name}.of_queries")
        picked = draft.add("GatherElements", [products, turned], f"{name}.asking_turned", axis=3)
        asking = draft.add("Transpose", [picked], f"{name}.asking", perm=[0, 1, 3, 2])
        found = draft.add("Add", [found, asking], f"{name}.with_asking")
    return found


def _of_waves(draft: "GraphBuilder", layer: Waves, queries: str, scores: str, *, name: str) -> str:
    heads, _, head_width = layer.shift.shape
    keys = draft.linear("waves", layer.positions, f"{name}.of_waves")
    draft.add("Reshape", [keys, draft.constant(f"{name}.wave_shape", [-1, heads, head_width])], f"{name}.waves_apart")
    draft.add("Transpose", [f"{name}.waves_apart"], f"{name}.waves_by_head", perm=[1, 2, 0])
    shifted = draft.add("Add", [queries, draft.constant(f"{name}.shift", layer.shift)], f"{name}.asking_waves")
    draft.add("MatMul", [shifted, f"{name}.waves_by_head"], f"{name}.wave_products")
    draft.add("Expand", ["entry", draft.add("Shape", [scores], f"{name}.scores_shape")], f"{name}.entries")
    draft.add("GatherElements", [f"{name}.wave_products", f"{name}.entries"], f"{name}.by_wave", axis=3)
    draft.add("Add", [scores, f"{name}.by_wave"], f"{name}.with_waves")
    other = draft.add(
        "Add", [queries, draft.constant(f"{name}.segment_shift", layer.segment_shift)], f"{name}.asking_types"
    )
    both = _products(draft, other, layer.segments, f"{name}.of_types")
    same, another = draft.split(both, [1, 1], f"{name}.types_apart", axis=3)
    draft.add("Where", ["differs", another, same], f"{name}.by_type")
    return draft.add("Add", [f"{name}.with_waves", f"{name}.by_type"], f"{name}.with_types")


def _products(draft: "GraphBuilder", states: str, vectors: Array, name: str) -> str:
    """(rows, heads, tokens, width of a head) times (heads, width of a head, entries)."""
    return draft.add("MatMul", [states, draft.constant(f"{name}.{BY_HEAD}", vectors)], f"{name}.products")
