"""The names of a transformer's parts, in each family whose layers have the same structure."""

from dataclasses import dataclass, fields, replace
from typing import Any

from torch import nn

# Embedding tables, below the base model; they have these names in every family here.
WORDS, POSITIONS, TYPES = (f"embeddings.{kind}_embeddings" for kind in ("word", "position", "token_type"))
EMBEDDING_NORM = "embeddings.LayerNorm"


@dataclass(frozen=True)
class LayerParts:
    """The names of a layer's eight parts, relative to the layer."""

    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    attended: str = "attention.output.dense"
    attended_norm: str = "attention.output.LayerNorm"
    inner: str = "intermediate.dense"
    outer: str = "output.dense"
    outer_norm: str = "output.LayerNorm"

    @property
    def all(self) -> list[str]:
        """All names, in the same order for every family."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class Family:
    """Where a family keeps its layers and its classifier."""

    layers: str = "encoder.layer"  # below the base model
    parts: LayerParts = LayerParts()
    dense: str = "classifier.dense"  # the first layer of the classifier, below the model
    activation: str = "tanh"  # after it
    classes: str = "classifier.out_proj"


BERT = Family(dense="bert.pooler.dense", classes="classifier")
ROBERTA = Family()
DISTILBERT = Family(
    layers="transformer.layer",
    parts=LayerParts(
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        attended="attention.out_lin",
        attended_norm="sa_layer_norm",
        inner="ffn.lin1",
        outer="ffn.lin2",
        outer_norm="output_layer_norm",
    ),
    dense="pre_classifier",
    activation="relu",
    classes="classifier",
)
MPNET = Family(
    parts=LayerParts(
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        attended="attention.attn.o",
        attended_norm="attention.LayerNorm",
    )
)
DEBERTA_V2 = Family(
    parts=LayerParts(
        query="attention.self.query_proj", key="attention.self.key_proj", value="attention.self.value_proj"
    ),
    dense="pooler.dense",
    activation="gelu",
    classes="classifier",
)

ALBERT = Family(
    layers="encoder.albert_layer_groups",  # each is one layer, which is used for several in a row
    parts=LayerParts(
        query="albert_layers.0.attention.query",
        key="albert_layers.0.attention.key",
        value="albert_layers.0.attention.value",
        attended="albert_layers.0.attention.dense",
        attended_norm="albert_layers.0.attention.LayerNorm",
        inner="albert_layers.0.ffn",
        outer="albert_layers.0.ffn_output",
        outer_norm="albert_layers.0.full_layer_layer_norm",
    ),
    dense="albert.pooler",
    classes="classifier",
)

# Keys are the model_type of a config.
FAMILIES: dict[str, Family] = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "electra": replace(ROBERTA, activation="gelu"),
    "ernie": replace(BERT, dense="ernie.pooler.dense"),
    "distilbert": DISTILBERT,
    "mpnet": MPNET,
    "deberta-v2": DEBERTA_V2,
    "albert": ALBERT,
}


def layers_of(model: Any) -> list[nn.Module]:
    """The layers of a model of one of these families, lowest first; a layer that is used several times once."""
    return list(model.base_model.get_submodule(FAMILIES[model.config.model_type].layers))


def own_layers(config: Any) -> int:
    """The number of layers with weights of their own: an ALBERT uses each of its groups for several layers."""
    return int(getattr(config, "num_hidden_groups", 0) or config.num_hidden_layers)


def group_of(layer: int, *, layers: int, groups: int) -> int:
    """Which group of shared weights a layer uses: the same number of layers in a row for each, as in ALBERT."""
    return int(layer / (layers / groups))


def module_at(model: Any, name: str) -> Any:
    """The part of this name, or None if the model has no such part."""
    part = model
    for step in name.split("."):
        part = getattr(part, step, None)
    return part
