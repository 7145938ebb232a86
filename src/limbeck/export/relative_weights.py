"""The weights of DeBERTa v2 and v3, and of XLNet, whose attention has products with distances between tokens."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from limbeck.export.encoder_parts import (
    Array,
    Distances,
    EncoderWeights,
    Head,
    Layer,
    Linear,
    Waves,
    linear_of,
    norm_of,
)
from limbeck.export.graph_parts import numpy_of

TO_KEYS, TO_QUERIES = "c2p", "p2c"  # names in DeBERTa's config: queries ask distances, keys ask them


def deberta_weights(network: Any) -> EncoderWeights:
    """Of a DebertaV2ForSequenceClassification. Raises TypeError for one with a convolution, or without distances.

    What does not depend on the text is computed here: the keys and queries of all distances.
    """
    config, base = network.config, network.deberta
    if base.encoder.conv is not None or not base.encoder.relative_attention:
        raise TypeError("a graph is known only for DeBERTas with relative attention, and without a convolution")
    embeddings, terms = base.embeddings, 1 + len(set(config.pos_att_type or []) & {TO_KEYS, TO_QUERIES})
    types, places = embeddings.token_type_embeddings, embeddings.position_embeddings
    return EncoderWeights(
        words=numpy_of(embeddings.word_embeddings.weight),
        positions=None if places is None else numpy_of(places.weight),
        unplaced=None,
        types=None if types is None else numpy_of(types.weight),
        norm=norm_of(embeddings.LayerNorm),
        projection=None if embeddings.embed_proj is None else _without_bias(embeddings.embed_proj.weight.T),
        projects_first=True,
        layers=[_deberta_layer(layer, base.encoder, terms=terms) for layer in base.encoder.layer],
        heads=config.num_attention_heads,
        activation=config.hidden_act,
        distances=None,
        head=Head(linear_of(network.pooler.dense), config.pooler_hidden_act, linear_of(network.classifier)),
        entries=_entries(base.encoder, positions=config.max_position_embeddings),
        score_terms=terms,
    )


def _deberta_layer(layer: Any, encoder: Any, *, terms: int) -> Layer:
    attention = layer.attention.self
    return Layer(
        query=linear_of(attention.query_proj),
        key=linear_of(attention.key_proj),
        value=linear_of(attention.value_proj),
        attended=linear_of(layer.attention.output.dense),
        attended_norm=norm_of(layer.attention.output.LayerNorm),
        inner=linear_of(layer.intermediate.dense),
        outer=linear_of(layer.output.dense),
        outer_norm=norm_of(layer.output.LayerNorm),
        relative=_distances(attention, encoder, terms=terms),
    )


@torch.no_grad()
def _distances(attention: Any, encoder: Any, *, terms: int) -> Distances:
    table = encoder.get_rel_embedding()[: 2 * attention.pos_ebd_size]  # (entries, width)

    def by_head(projection: Any, factor: float = 1.0) -> Array:
        found: Tensor = projection(table).view(len(table), attention.num_attention_heads, -1) * factor
        return numpy_of(found.permute(1, 2, 0))

    shared, kinds = attention.share_att_key, attention.pos_att_type
    keys = attention.key_proj if shared else getattr(attention, "pos_key_proj", None)
    queries = attention.query_proj if shared else getattr(attention, "pos_query_proj", None)
    scale = (attention.attention_head_size * terms) ** -0.5
    return Distances(
        keys=by_head(keys) if TO_KEYS in kinds else None,
        queries=by_head(queries, scale) if TO_QUERIES in kinds else None,
    )


def _entries(encoder: Any, *, positions: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The entry of every distance from query to key, from 1 - positions on: far ones share entries."""
    span = encoder.position_buckets if encoder.position_buckets > 0 else encoder.max_relative_positions
    ahead = torch.zeros(1, positions, 1)
    rows = encoder.get_rel_pos(ahead)[0]  # (positions, positions): query minus key
    by_distance = torch.cat([rows[0].flip(0), rows[1:, 0]])
    found: np.ndarray[Any, np.dtype[np.int64]] = (by_distance + span).clamp(0, 2 * span - 1).numpy()
    return found


def xlnet_weights(network: Any) -> EncoderWeights:
    """Of an XLNetForSequenceClassification. Raises TypeError for one that does not read its last token in both
    directions, as all published ones do."""
    config, summary = network.config, network.sequence_summary
    if (config.summary_type, config.attn_type, config.bi_data, config.clamp_len) != ("last", "bi", False, -1):
        raise TypeError("a graph is known only for XLNets that read their last token, in both directions")
    if not config.summary_use_proj or config.summary_activation != "tanh":
        raise TypeError("a graph is known only for XLNets with a layer and a tanh before their classes")
    base = network.transformer
    return EncoderWeights(
        words=numpy_of(base.word_embedding.weight),
        positions=None,
        unplaced=None,
        types=None,
        norm=None,
        projection=None,
        layers=[_xlnet_layer(layer.rel_attn, layer.ff) for layer in base.layer],
        heads=config.n_head,
        activation=config.ff_activation,
        distances=None,
        head=Head(linear_of(summary.summary), config.summary_activation, linear_of(network.logits_proj), reads="last"),
    )


def _xlnet_layer(attention: Any, inner: Any) -> Layer:
    """The bias with which a query asks words becomes the bias of the query; the others are differences from it."""
    factor = attention.d_head**-0.5
    ahead = attention.r_w_bias
    return Layer(
        query=Linear(_flat(attention.q), numpy_of(ahead.flatten())),
        key=_without_bias(attention.k.flatten(1)),
        value=_without_bias(attention.v.flatten(1)),
        attended=_without_bias(attention.o.flatten(1).T),
        attended_norm=norm_of(attention.layer_norm),
        inner=linear_of(inner.layer_1),
        outer=linear_of(inner.layer_2),
        outer_norm=norm_of(inner.layer_norm),
        relative=Waves(
            positions=_without_bias(attention.r.flatten(1)),
            shift=numpy_of((attention.r_r_bias - ahead)[:, None] * factor),
            segment_shift=numpy_of((attention.r_s_bias - ahead)[:, None] * factor),
            segments=numpy_of(attention.seg_embed.permute(1, 2, 0)),
        ),
    )


def _flat(weight: Tensor) -> Array:
    """(width, heads, width of a head) → (width, heads · width of a head)."""
    return numpy_of(weight.flatten(1))


def _without_bias(weight: Tensor) -> Linear:
    return Linear(numpy_of(weight), np.zeros(weight.shape[1], dtype=np.float32))
