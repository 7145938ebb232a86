"""How many products a network adds up for one row: by formula, from the shape in its config.json.

Counted are the products with weights and those of states with states. Lookups, norms, activations and what is done
number by number are left out, as is usual.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Config = Mapping[str, Any]  # what stands in config.json

GATES = {"lstm": 4, "gru": 3}
# Families whose layers are built as BERT's. XLNet and DeBERTa multiply with positions too, and are not among them.
LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "albert")


def multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool = False) -> int | None:
    """Of one row whose texts have so many tokens; None for a family that no formula is known for.

    Special tokens count too. A transformer reads both texts of a pair as one, and exported (`exported`) it works out
    the last layer for the first token alone.
    """
    match config["model_type"]:
        case "limbeck_bilstm":
            of_texts = sum(recurrent(config, tokens=count) for count in tokens)
            return of_texts + word_head(config, features=2 * config["hidden_size"], classes=classes)
        case "limbeck_textcnn":
            filters = config["filters"] * len(config["windows"])
            of_texts = sum(convolution(config, tokens=count) for count in tokens)
            return of_texts + word_head(config, features=filters, classes=classes)
        case "limbeck_bag":
            width = vector_size(config)
            return sum(tokens) * width + word_head(config, features=width, classes=classes)
        case "twin_encoder":
            return twins(config["encoder"], tokens=sum(tokens), classes=classes)
    shape = shape_of(config)
    return None if shape is None else transformer(shape, tokens=sum(tokens), classes=classes, exported=exported)


def shape_of(config: Config) -> Config | None:
    """The same keys for every family whose layers are built as BERT's; None for another."""
    if config["model_type"] == "distilbert":
        names = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "intermediate_size": "hidden_dim"}
        return {name: config[own] for name, own in names.items()}
    return config if config["model_type"] in LIKE_BERT else None


def twins(config: Config, *, tokens: int, classes: int) -> int | None:
    """The layers for each text, taken to be as long as the other, and 4d·classes. The row begins with a special token;
    by itself, so does its second text."""
    shape = shape_of(config)
    if shape is None:
        return None
    first = (tokens + 1) // 2
    of_texts = [layers(shape, tokens=length, exported=False) for length in (first, tokens + 1 - first)]
    return sum(of_texts) + chain(4 * int(shape["hidden_size"]), classes)


def transformer(config: Config, *, tokens: int, classes: int, exported: bool) -> int:
    """Its layers, and d² + d·classes behind them, for states of width d."""
    d = int(config["hidden_size"])
    return layers(config, tokens=tokens, exported=exported) + chain(d, d, classes)


def layers(config: Config, *, tokens: int, exported: bool) -> int:
    """layers · (4nd² + 2n²d + 2nd·inner), for n tokens of width d.

    The terms of a layer: query, key, value and output; scores and the states they weigh; the two layers behind. The
    last layer of an exported file, for one token: 2nd² for keys and values, 2d², 2nd and 2d·inner.
    """
    count, d, inner = (int(config[name]) for name in ("num_hidden_layers", "hidden_size", "intermediate_size"))
    of_layer = 4 * tokens * d**2 + 2 * tokens**2 * d + 2 * tokens * d * inner
    of_last = 2 * tokens * d**2 + 2 * d**2 + 2 * tokens * d + 2 * d * inner if exported else of_layer
    embedding = int(config.get("embedding_size", d))
    projection = tokens * embedding * d if embedding != d else 0  # ELECTRA's and ALBERT's word vectors are narrower
    return projection + (count - 1) * of_layer + of_last


def recurrent(config: Config, *, tokens: int) -> int:
    """levels · 2n · gates · hidden · (inputs + hidden), and the attention over the states where there is one."""
    hidden, levels, gates = int(config["hidden_size"]), int(config["layers"]), GATES[config["cell"]]
    widths = [vector_size(config), *[2 * hidden] * (levels - 1)]
    of_levels = sum(2 * tokens * gates * hidden * (width + hidden) for width in widths)
    if config["pooling"] != "attention":
        return of_levels
    both = 2 * hidden
    return of_levels + tokens * chain(both, both, 1) + tokens * both


def convolution(config: Config, *, tokens: int) -> int:
    """n · width · Σ windows · filters: every word meets every place of every filter."""
    return int(tokens * vector_size(config) * sum(config["windows"]) * config["filters"])


def vector_size(config: Config) -> int:
    """Width of what a student reads for a word: both channels together."""
    return int(config["embedding_size"]) * (2 if config["static_channel"] else 1)


def word_head(config: Config, *, features: int, classes: int) -> int:
    """From the features of a text, or of a pair and its products and distances, to the classes."""
    dense = [config["dense_size"]] if config["dense_size"] else []
    return chain(features * (4 if config["pair"] else 1), *dense, classes)


def chain(*widths: int) -> int:
    """Linear layers one behind the other."""
    return sum(one * other for one, other in pairwise(widths))
