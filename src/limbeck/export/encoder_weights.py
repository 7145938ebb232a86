"""The weights of a transformer classifier, in the same form for every family."""

from typing import Any

import torch
from torch import nn
from transformers import (
    BertForSequenceClassification,
    DistilBertForSequenceClassification,
    ElectraForSequenceClassification,
    MPNetForSequenceClassification,
    RobertaForSequenceClassification,
    XLMRobertaForSequenceClassification,
)

from limbeck.export.encoder_parts import Array, EncoderWeights, Head, Layer, linear_of, norm_of
from limbeck.export.graph_parts import numpy_of
from limbeck.export.relative_weights import deberta_weights, xlnet_weights
from limbeck.models.layer_parts import group_of, layers_of
from limbeck.models.mean_encoder import MeanEncoderForSequenceClassification


def encoder_weights(network: nn.Module) -> EncoderWeights:
    """The weights of a classifier. Raises TypeError for a family that cannot be exported."""
    match network:
        case BertForSequenceClassification():
            head = Head(linear_of(network.bert.pooler.dense), "tanh", linear_of(network.classifier))
            return _bert_like(network.config, network.bert, head)
        case RobertaForSequenceClassification() | XLMRobertaForSequenceClassification():
            # Positions are counted from after the padding id.
            return _bert_like(
                network.config, network.roberta, _own_head(network, "tanh"), skip=network.config.pad_token_id + 1
            )
        case ElectraForSequenceClassification():
            return _bert_like(network.config, network.electra, _own_head(network, "gelu"))
        case DistilBertForSequenceClassification():
            head = Head(linear_of(network.pre_classifier), "relu", linear_of(network.classifier))
            return _distilbert(network.config, network.distilbert, head)
        case MPNetForSequenceClassification():
            return _mpnet(network.config, network.mpnet, _own_head(network, "tanh"))
        case MeanEncoderForSequenceClassification():
            return _of_mean(network)
        case _:
            return _of_other(network)


def _of_other(network: nn.Module) -> EncoderWeights:
    """Of families whose layers are not BERT's, by name: to import DeBERTa's module compiles a part of it."""
    other: Any = network
    match type(network).__name__:
        case "AlbertForSequenceClassification":
            head = Head(linear_of(other.albert.pooler), "tanh", linear_of(other.classifier))
            return _albert(other.config, other.albert, head)
        case "DebertaV2ForSequenceClassification":
            return deberta_weights(other)
        case "XLNetForSequenceClassification":
            return xlnet_weights(other)
        case name:
            raise TypeError(f"there is no graph for models of the class {name}")


def _of_mean(network: MeanEncoderForSequenceClassification) -> EncoderWeights:
    base = network.encoder
    head = Head(None, "", linear_of(network.classifier), reads="mean")
    match base.config.model_type:
        case "bert" | "electra":
            return _bert_like(base.config, base, head)
        case "roberta" | "xlm-roberta":
            return _bert_like(base.config, base, head, skip=base.config.pad_token_id + 1)
        case "distilbert":
            return _distilbert(base.config, base, head)
        case "mpnet":
            return _mpnet(base.config, base, head)
        case family:
            raise TypeError(f"no graph is known for encoders of the family {family}")


def _bert_like(config: Any, base: Any, head: Head, *, skip: int = 0) -> EncoderWeights:
    """`skip` is the number of positions before that of the first token."""
    embeddings = base.embeddings
    return EncoderWeights(
        words=numpy_of(embeddings.word_embeddings.weight),
        positions=numpy_of(embeddings.position_embeddings.weight)[skip:],
        unplaced=None,
        types=numpy_of(embeddings.token_type_embeddings.weight),
        norm=norm_of(embeddings.LayerNorm),
        projection=linear_of(base.embeddings_project) if hasattr(base, "embeddings_project") else None,
        layers=[_bert_layer(layer) for layer in base.encoder.layer],
        heads=config.num_attention_heads,
        activation=config.hidden_act,
        distances=None,
        head=head,
    )


def _bert_layer(layer: Any) -> Layer:
    attention = layer.attention
    return Layer(
        query=linear_of(attention.self.query),
        key=linear_of(attention.self.key),
        value=linear_of(attention.self.value),
        attended=linear_of(attention.output.dense),
        attended_norm=norm_of(attention.output.LayerNorm),
        inner=linear_of(layer.intermediate.dense),
        outer=linear_of(layer.output.dense),
        outer_norm=norm_of(layer.output.LayerNorm),
    )


def _albert(config: Any, base: Any, head: Head) -> EncoderWeights:
    """Layers of a group are the same weights, under one name. Raises TypeError for groups of several layers, which no
    published model has."""
    if config.inner_group_num != 1:
        raise TypeError(f"no graph is known for an ALBERT with {config.inner_group_num} layers in a group")
    groups = [_albert_layer(part, f"groups.{number}") for number, part in enumerate(layers_of(base))]
    used = (
        group_of(number, layers=config.num_hidden_layers, groups=len(groups))
        for number in range(config.num_hidden_layers)
    )
    embeddings = base.embeddings
    return EncoderWeights(
        words=numpy_of(embeddings.word_embeddings.weight),
        positions=numpy_of(embeddings.position_embeddings.weight),
        unplaced=None,
        types=numpy_of(embeddings.token_type_embeddings.weight),
        norm=norm_of(embeddings.LayerNorm),
        projection=linear_of(base.encoder.embedding_hidden_mapping_in),
        layers=[groups[number] for number in used],
        heads=config.num_attention_heads,
        activation=config.hidden_act,
        distances=None,
        head=head,
    )


def _albert_layer(group: Any, stored: str) -> Layer:
    (layer,) = group.albert_layers
    attention = layer.attention
    return Layer(
        query=linear_of(attention.query),
        key=linear_of(attention.key),
        value=linear_of(attention.value),
        attended=linear_of(attention.dense),
        attended_norm=norm_of(attention.LayerNorm),
        inner=linear_of(layer.ffn),
        outer=linear_of(layer.ffn_output),
        outer_norm=norm_of(layer.full_layer_layer_norm),
        stored=stored,
    )


def _distilbert(config: Any, base: Any, head: Head) -> EncoderWeights:
    embeddings = base.embeddings
    return EncoderWeights(
        words=numpy_of(embeddings.word_embeddings.weight),
        positions=numpy_of(embeddings.position_embeddings.weight),
        unplaced=None,
        types=None,
        norm=norm_of(embeddings.LayerNorm),
        projection=None,
        layers=[_distilbert_layer(layer) for layer in base.transformer.layer],
        heads=config.n_heads,
        activation=config.activation,
        distances=None,
        head=head,
    )


def _distilbert_layer(layer: Any) -> Layer:
    return Layer(
        query=linear_of(layer.attention.q_lin),
        key=linear_of(layer.attention.k_lin),
        value=linear_of(layer.attention.v_lin),
        attended=linear_of(layer.attention.out_lin),
        attended_norm=norm_of(layer.sa_layer_norm),
        inner=linear_of(layer.ffn.lin1),
        outer=linear_of(layer.ffn.lin2),
        outer_norm=norm_of(layer.output_layer_norm),
    )


def _mpnet(config: Any, base: Any, head: Head) -> EncoderWeights:
    """When it counts positions, transformers' MPNet treats one fixed id as padding, whatever its config says. In a
    vocabulary that has another token with that id, such tokens appear inside texts."""
    fixed = base.embeddings.padding_idx
    unplaced = None if config.pad_token_id == fixed else fixed
    positions = numpy_of(base.embeddings.position_embeddings.weight)
    return EncoderWeights(
        words=numpy_of(base.embeddings.word_embeddings.weight),
        positions=positions[fixed + 1 if unplaced is None else fixed :],
        unplaced=unplaced,
        types=None,
        norm=norm_of(base.embeddings.LayerNorm),
        projection=None,
        layers=[_mpnet_layer(layer) for layer in base.encoder.layer],
        heads=config.num_attention_heads,
        activation=config.hidden_act,
        distances=_distances(base.encoder, positions=len(positions)),
        head=head,
    )


def _mpnet_layer(layer: Any) -> Layer:
    attention = layer.attention.attn
    return Layer(
        query=linear_of(attention.q),
        key=linear_of(attention.k),
        value=linear_of(attention.v),
        attended=linear_of(attention.o),
        attended_norm=norm_of(layer.attention.LayerNorm),
        inner=linear_of(layer.intermediate.dense),
        outer=linear_of(layer.output.dense),
        outer_norm=norm_of(layer.output.LayerNorm),
    )


def _distances(encoder: Any, *, positions: int) -> Array:
    """One column per distance from query to key, the most negative first."""
    distances = torch.arange(1 - positions, positions)
    return numpy_of(encoder.relative_attention_bias.weight[encoder.relative_position_bucket(distances)].T)


def _own_head(network: Any, activation: str) -> Head:
    return Head(linear_of(network.classifier.dense), activation, linear_of(network.classifier.out_proj))
