"""The weights of a transformer classifier, in the same form for every family."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers import (
    AlbertForSequenceClassification,
    BertForSequenceClassification,
    DistilBertForSequenceClassification,
    ElectraForSequenceClassification,
    MPNetForSequenceClassification,
    RobertaForSequenceClassification,
    XLMRobertaForSequenceClassification,
)

from limbeck.export.graph_parts import numpy_of
from limbeck.models.layer_parts import group_of, layers_of
from limbeck.models.mean_encoder import MeanEncoderForSequenceClassification

Array = npt.NDArray[np.float32]


class Linear(NamedTuple):
    """states @ weight + bias."""

    weight: Array  # (inputs, outputs)
    bias: Array  # (outputs)


class Norm(NamedTuple):
    """A layer normalisation."""

    scale: Array
    shift: Array
    epsilon: float


class Layer(NamedTuple):
    """Attention, then two feed-forward layers; each part is added to the states and normalised."""

    query: Linear
    key: Linear
    value: Linear
    attended: Linear
    attended_norm: Norm
    inner: Linear
    outer: Linear
    outer_norm: Norm
    stored: str = ""  # the name of its weights in a graph, if several layers share them


class Head(NamedTuple):
    """From the state of the first token, or from the mean of all states, to the logits."""

    dense: Linear | None
    activation: str
    classes: Linear
    reads: Literal["first", "mean"] = "first"


@dataclass(frozen=True)
class EncoderWeights:
    """A network without dropout. Activations have the names that transformers uses."""

    words: Array  # (vocabulary, width)
    positions: Array  # (positions, width), from that of the first token on; if `unplaced` is set, from one before
    unplaced: int | None  # the id of tokens that are not counted and get the position before the first
    types: Array | None  # (types, width)
    norm: Norm  # of the sum of the three
    projection: Linear | None  # if the layers are wider or narrower than the word vectors
    layers: list[Layer]
    heads: int
    activation: str
    distances: Array | None  # (heads, 2 · positions - 1): added to scores, by the distance from query to key
    head: Head


def encoder_weights(network: nn.Module) -> EncoderWeights:
    """The weights of a classifier. Raises TypeError for a family that cannot be exported."""
    match network:
        case BertForSequenceClassification():
            head = Head(_linear(network.bert.pooler.dense), "tanh", _linear(network.classifier))
            return _bert_like(network.config, network.bert, head)
        case RobertaForSequenceClassification() | XLMRobertaForSequenceClassification():
            # Positions are counted from after the padding id.
            return _bert_like(
                network.config, network.roberta, _own_head(network, "tanh"), skip=network.config.pad_token_id + 1
            )
        case ElectraForSequenceClassification():
            return _bert_like(network.config, network.electra, _own_head(network, "gelu"))
        case AlbertForSequenceClassification():
            head = Head(_linear(network.albert.pooler), "tanh", _linear(network.classifier))
            return _albert(network.config, network.albert, head)
        case DistilBertForSequenceClassification():
            head = Head(_linear(network.pre_classifier), "relu", _linear(network.classifier))
            return _distilbert(network.config, network.distilbert, head)
        case MPNetForSequenceClassification():
            return _mpnet(network.config, network.mpnet, _own_head(network, "tanh"))
        case MeanEncoderForSequenceClassification():
            return _of_mean(network)
        case _:
            raise TypeError(f"there is no graph for models of the class {type(network).__name__}")


def _of_mean(network: MeanEncoderForSequenceClassification) -> EncoderWeights:
    base = network.encoder
    head = Head(None, "", _linear(network.classifier), reads="mean")
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
        norm=_norm(embeddings.LayerNorm),
        projection=_linear(base.embeddings_project) if hasattr(base, "embeddings_project") else None,
        layers=[_bert_layer(layer) for layer in base.encoder.layer],
        heads=config.num_attention_heads,
        activation=config.hidden_act,
        distances=None,
        head=head,
    )


def _bert_layer(layer: Any) -> Layer:
    attention = layer.attention
    return Layer(
        query=_linear(attention.self.query),
        key=_linear(attention.self.key),
        value=_linear(attention.self.value),
        attended=_linear(attention.output.dense),
        attended_norm=_norm(attention.output.LayerNorm),
        inner=_linear(layer.intermediate.dense),
        outer=_linear(layer.output.dense),
        outer_norm=_norm(layer.output.LayerNorm),
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
        norm=_norm(embeddings.LayerNorm),
        projection=_linear(base.encoder.embedding_hidden_mapping_in),
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
        query=_linear(attention.query),
        key=_linear(attention.key),
        value=_linear(attention.value),
        attended=_linear(attention.dense),
        attended_norm=_norm(attention.LayerNorm),
        inner=_linear(layer.ffn),
        outer=_linear(layer.ffn_output),
        outer_norm=_norm(layer.full_layer_layer_norm),
        stored=stored,
    )


def _distilbert(config: Any, base: Any, head: Head) -> EncoderWeights:
    embeddings = base.embeddings
    return EncoderWeights(
        words=numpy_of(embeddings.word_embeddings.weight),
        positions=numpy_of(embeddings.position_embeddings.weight),
        unplaced=None,
        types=None,
        norm=_norm(embeddings.LayerNorm),
        projection=None,
        layers=[_distilbert_layer(layer) for layer in base.transformer.layer],
        heads=config.n_heads,
        activation=config.activation,
        distances=None,
        head=head,
    )


def _distilbert_layer(layer: Any) -> Layer:
    return Layer(
        query=_linear(layer.attention.q_lin),
        key=_linear(layer.attention.k_lin),
        value=_linear(layer.attention.v_lin),
        attended=_linear(layer.attention.out_lin),
        attended_norm=_norm(layer.sa_layer_norm),
        inner=_linear(layer.ffn.lin1),
        outer=_linear(layer.ffn.lin2),
        outer_norm=_norm(layer.output_layer_norm),
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
        norm=_norm(base.embeddings.LayerNorm),
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
        query=_linear(attention.q),
        key=_linear(attention.k),
        value=_linear(attention.v),
        attended=_linear(attention.o),
        attended_norm=_norm(layer.attention.LayerNorm),
        inner=_linear(layer.intermediate.dense),
        outer=_linear(layer.output.dense),
        outer_norm=_norm(layer.output.LayerNorm),
    )


def _distances(encoder: Any, *, positions: int) -> Array:
    """One column per distance from query to key, the most negative first."""
    distances = torch.arange(1 - positions, positions)
    return numpy_of(encoder.relative_attention_bias.weight[encoder.relative_position_bucket(distances)].T)


def _own_head(network: Any, activation: str) -> Head:
    return Head(_linear(network.classifier.dense), activation, _linear(network.classifier.out_proj))


def _linear(layer: nn.Linear) -> Linear:
    return Linear(numpy_of(layer.weight.T), numpy_of(layer.bias))


def _norm(layer: nn.LayerNorm) -> Norm:
    return Norm(numpy_of(layer.weight), numpy_of(layer.bias), layer.eps)
