"""What a transformer classifier consists of, in the same form for every family: the input of its graph."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from torch import nn

from limbeck.export.graph_parts import numpy_of

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


class Distances(NamedTuple):
    """DeBERTa's attention to distances: numbers that are looked up by the entry of a distance."""

    keys: Array | None  # (heads, width of a head, entries): queries are multiplied with them
    queries: Array | None  # (heads, width of a head, entries): keys are multiplied with them; scaled as queries are


class Waves(NamedTuple):
    """XLNet's attention to distances, which are sines and cosines, and to whether two tokens are of one text."""

    positions: Linear  # of the waves of a distance
    shift: Array  # (heads, 1, width of a head): what is added to a query that is multiplied with them; scaled
    segment_shift: Array  # the same for segments
    segments: Array  # (heads, width of a head, 2): of the same text, of another


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
    relative: Distances | Waves | None = None  # what scores have in addition, by distance
    stored: str = ""  # the name of its weights in a graph, if several layers share them


class Head(NamedTuple):
    """From the state of the first token or the last, or from the mean of all states, to the logits."""

    dense: Linear | None
    activation: str
    classes: Linear
    reads: Literal["first", "last", "mean"] = "first"


@dataclass(frozen=True)
class EncoderWeights:
    """A network without dropout. Activations have the names that transformers uses."""

    words: Array  # (vocabulary, width)
    positions: (
        Array | None
    )  # (positions, width), from that of the first token on; if `unplaced` is set, from one before
    unplaced: int | None  # the id of tokens that are not counted and get the position before the first
    types: Array | None  # (types, width)
    norm: Norm | None  # of the sum of the three
    projection: Linear | None  # if the layers are wider or narrower than the word vectors
    layers: list[Layer]
    heads: int
    activation: str
    distances: Array | None  # (heads, 2 · positions - 1): added to scores, by the distance from query to key
    head: Head
    projects_first: bool = False  # before the norm
    entries: npt.NDArray[np.int64] | None = None  # (2 · positions - 1): of each distance, the most negative first
    score_terms: int = 1  # products that are added to a score, which its scale depends on


def linear_of(layer: nn.Linear) -> Linear:
    return Linear(numpy_of(layer.weight.T), numpy_of(layer.bias))


def norm_of(layer: nn.LayerNorm) -> Norm:
    return Norm(numpy_of(layer.weight), numpy_of(layer.bias), layer.eps)
