"""Multiply-adds per row: the parts that the formulas of all kinds share, and the formula for transformers.

A formula reads the config.json of a network and needs no weights.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Config = Mapping[str, Any]  # the content of config.json

# Families whose layers are built like BERT's; DeBERTa's and XLNet's also multiply with distances.
LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "albert", "deberta-v2", "xlnet")
NAMES = {
    "distilbert": {"hidden_size": "dim", "num_hidden_layers": "n_layers", "intermediate_size": "hidden_dim"},
    "xlnet": {"hidden_size": "d_model", "num_hidden_layers": "n_layer", "intermediate_size": "d_inner"},
}


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
    family = config["model_type"]
    if family in NAMES:
        return {"model_type": family, **{name: config[own] for name, own in NAMES[family].items()}}
    return config if family in LIKE_BERT else None


def layers(config: Config, *, tokens: int, exported: bool) -> int:
    """layers · (4nd² + 2n²d + 2nd·inner), for n tokens of width d.

    The terms of a layer: query, key, value and output; scores and weighted states; the two feed-forward layers. The
    last layer of an exported file, for one token: 2nd² for keys and values, 2d², 2nd and 2d·inner.
    """
    count, d, inner = (int(config[name]) for name in ("num_hidden_layers", "hidden_size", "intermediate_size"))
    of_layer = 4 * tokens * d**2 + 2 * tokens**2 * d + 2 * tokens * d * inner
    of_layer += distances(config, tokens=tokens, asking=tokens, exported=exported)
    of_last = of_layer
    if exported and config["model_type"] != "xlnet":  # which reads the last token of each row, so all are computed
        of_last = 2 * tokens * d**2 + 2 * d**2 + 2 * tokens * d + 2 * d * inner
        of_last += distances(config, tokens=tokens, asking=1, exported=True)
    embedding = int(config.get("embedding_size", d))
    projection = tokens * embedding * d if embedding != d else 0  # ELECTRA's and ALBERT's word vectors are narrower
    return projection + (count - 1) * of_layer + of_last


def distances(config: Config, *, tokens: int, asking: int, exported: bool) -> int:
    """What a layer multiplies with distances, for so many `asking` tokens of all.

    DeBERTa, for E entries: d·E for every query, and d·E for every key; in PyTorch also d²·E for the vectors of the
    entries, once for either, which an exported file has as constants. XLNet: 2n distances, d² for the vector of each, d
    for each query and distance; 2d for each query and the type of a token.
    """
    d = int(config["hidden_size"])
    if config["model_type"] == "xlnet":
        return 2 * tokens * d**2 + 2 * tokens**2 * d + 2 * tokens * d
    if config["model_type"] != "deberta-v2" or not config.get("relative_attention"):
        return 0
    most = config.get("max_relative_positions", -1)
    most = most if most > 0 else config["max_position_embeddings"]
    entries = 2 * int(config["position_buckets"] if config.get("position_buckets", -1) > 0 else most)
    kinds = set(config.get("pos_att_type") or ())
    products = asking * ("c2p" in kinds) + tokens * ("p2c" in kinds)
    return products * d * entries + (0 if exported else len(kinds & {"c2p", "p2c"}) * entries * d**2)


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
