"""The attention of a transformer's graph: what each token, or the first one alone, finds in its row."""

from collections.abc import Sequence

import numpy as np

from limbeck.export.draft import Draft
from limbeck.export.encoder_weights import Array, Layer, Linear
from limbeck.export.graph_parts import LOWEST


def mask(draft: Draft, *, distances: Array | None) -> None:
    """`inside` (rows, tokens) and `places` (tokens) → `mask` (rows, 1 or heads, 1 or tokens, tokens).

    It is added to the scores of every layer.
    """
    draft.add("Unsqueeze", ["inside", draft.constant("axes_1_2", [1, 2])], "inside_4d")
    seen = draft.constant("seen", 0.0) if distances is None else _by_distance(draft, distances)
    draft.add("Where", ["inside_4d", seen, draft.constant("unseen", LOWEST)], "mask")


def _by_distance(draft: Draft, distances: Array) -> str:
    """(heads, asking tokens, tokens): what is added to a score for how far a token is behind the asking one."""
    draft.add("Unsqueeze", ["places", draft.constant("axis_1", [1])], "asking_places")
    draft.add("Sub", ["places", "asking_places"], "distance")
    draft.add("Add", ["distance", draft.constant("no_distance", distances.shape[1] // 2)], "distance_column")
    return draft.add("Gather", [draft.constant("distances", distances), "distance_column"], "by_distance", axis=1)


def found_by_all(draft: Draft, layer: Layer, states: str, *, heads: int, name: str) -> str:
    """(rows · tokens, width) → (rows · tokens, width), all heads side by side."""
    queries, keys, values = _by_head(draft, [_scaled(layer, heads), layer.key, layer.value], states, heads, name)
    return _found(draft, queries, keys, values, mask="mask", name=name)


def found_by_first(draft: Draft, layer: Layer, states: str, first_tokens: str, *, heads: int, name: str) -> str:
    """(rows · tokens, width), and (rows, width) of the first tokens → (rows, width)."""
    query = draft.linear(first_tokens, _scaled(layer, heads), f"{name}.query")
    one_each = draft.constant(f"{name}.one_each", [-1, heads, 1, len(layer.query.bias) // heads])
    queries = draft.add("Reshape", [query, one_each], f"{name}.queries")
    keys, values = _by_head(draft, [layer.key, layer.value], states, heads, name)
    of_first = draft.add("Gather", ["mask", draft.constant("first_place", [0])], "mask_of_first", axis=2)
    return _found(draft, queries, keys, values, mask=of_first, name=name)


def _scaled(layer: Layer, heads: int) -> Linear:
    """The query with the factor of all scores, one by the root of a head's width, in its weights."""
    factor = np.float32((len(layer.query.bias) // heads) ** -0.5)
    return Linear(layer.query.weight * factor, layer.query.bias * factor)


def _by_head(draft: Draft, parts: Sequence[Linear], states: str, heads: int, name: str) -> list[str]:
    """Each part as (rows, heads, tokens, width of a head); one product for all of them."""
    weights, biases = [part.weight for part in parts], [part.bias for part in parts]
    joined = draft.linear(states, Linear(np.concatenate(weights, axis=1), np.concatenate(biases)), f"{name}.joined")
    split_up = draft.constant(f"{name}.split_up", [len(parts) * heads, len(biases[0]) // heads])
    shape = draft.add("Concat", ["shape", split_up], f"{name}.shape", axis=0)
    draft.add("Reshape", [joined, shape], f"{name}.by_token")
    draft.add("Transpose", [f"{name}.by_token"], f"{name}.by_head", perm=[0, 2, 1, 3])
    return draft.split(f"{name}.by_head", [heads] * len(parts), f"{name}.parts", axis=1)


def _found(draft: Draft, queries: str, keys: str, values: str, *, mask: str, name: str) -> str:
    """softmax(queries · keysᵀ + mask) · values, all heads side by side."""
    draft.add("Transpose", [keys], f"{name}.keys_turned", perm=[0, 1, 3, 2])
    draft.add("MatMul", [queries, f"{name}.keys_turned"], f"{name}.scores")  # (rows, heads, asking tokens, tokens)
    draft.add("Add", [f"{name}.scores", mask], f"{name}.masked")
    draft.add("Softmax", [f"{name}.masked"], f"{name}.shares", axis=-1)
    draft.add("MatMul", [f"{name}.shares", values], f"{name}.found_by_head")
    draft.add("Transpose", [f"{name}.found_by_head"], f"{name}.found_by_token", perm=[0, 2, 1, 3])
    return draft.add("Reshape", [f"{name}.found_by_token", "states_shape"], f"{name}.found")
