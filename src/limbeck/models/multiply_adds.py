"""Multiply-adds per row: the parts that the formulas of all kinds share, and the formula for transformers.

A formula reads the config.json of a network and needs no weights.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Config = Mapping[str, Any]  # the content of config.json

# Families whose layers are built like BERT's. XLNet and DeBERTa also multiply with positions, and are not included.
LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "albert")


def transformer_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int, exported: bool) -> int | None:
    """Its layers, then d² + d·classes, for states of width d; None for an unknown family.

    It reads both texts of a pair as one. An exported one computes the last layer only for the first token.
    """
    shape = shape_of(config)
    if shape is None:
        return None
    d = int(shape["hidden_size"])
    return layers(shape, tokens=sum(tokens), exported=exported) + chain(d, d, classes)


def twin_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int) -> int | None:
    """The layers for each text, assuming two texts of equal length, and 4d·classes. The row begins with a special
    token; its second text, read separately, gets one too."""
    shape = shape_of(config)
    if shape is None:
        return None
    count = sum(tokens)
    first = (count + 1) // 2
    of_texts = [layers(shape, tokens=length, exported=False) for length in (first, count + 1 - first)]
    return sum(of_texts) + chain(4 * int(shape["hidden_size"]), classes)


def mean_encoder_multiply_adds(config: Config, *, tokens: Sequence[int], classes: int) -> int | None:
    """All layers for all tokens, and d·classes after them; None for an unknown family."""
    shape = shape_of(config)
    if shape is None:
        return None
    return layers(shape, tokens=sum(tokens), exported=False) + chain(int(shape["hidden_size"]), classes)


def shape_of(config: Config) -> Config | None:
    """The sizes under the same keys for every family whose layers are built like BERT's; None for any other."""
    if config["model_type"] == "distilbert":
        names = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "intermediate_size": "hidden_dim"}
        return {name: config[own] for name, own in names.items()}
    return config if config["model_type"] in LIKE_BERT else None


def layers(config: Config, *, tokens: int, exported: bool) -> int:
    """layers · (4nd² + 2n²d + 2nd·inner), for n tokens of width d.

    The terms of a layer: query, key, value and output; scores and weighted states; the two feed-forward layers. The
    last layer of an exported file, for one token: 2nd² for keys and values, 2d², 2nd and 2d·inner.
    """
    count, d, inner = (int(config[name]) for name in ("num_hidden_layers", "hidden_size", "intermediate_size"))
    of_layer = 4 * tokens * d**2 + 2 * tokens**2 * d + 2 * tokens * d * inner
    of_last = 2 * tokens * d**2 + 2 * d**2 + 2 * tokens * d + 2 * d * inner if exported else of_layer
    embedding = int(config.get("embedding_size", d))
    projection = tokens * embedding * d if embedding != d else 0  # ELECTRA's and ALBERT's word vectors are narrower
    return projection + (count - 1) * of_layer + of_last


def attends(config: Config) -> bool:
    """Whether a student of words compares two texts word by word."""
    return bool(config["pair"]) and config.get("pairing") == "attend"


def two_texts(tokens: Sequence[int]) -> tuple[int, int]:
    """The lengths of the two texts of a row."""
    one, other = tokens
    return one, other


def vector_size(config: Config) -> int:
    """Width of a student's input for one word: both channels together."""
    return int(config["embedding_size"]) * (2 if config["static_channel"] else 1)


def word_head(config: Config, *, features: int, classes: int) -> int:
    """From the features of a text, or of a pair and its products and distances, to the classes."""
    dense = [config["dense_size"]] if config["dense_size"] else []
    return chain(features * (4 if config["pair"] else 1), *dense, classes)


def chain(*widths: int) -> int:
    """Linear layers one after the other."""
    return sum(one * other for one, other in pairwise(widths))
