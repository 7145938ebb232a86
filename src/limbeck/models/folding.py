"""Turns a student with low-rank word vectors, or with a graph, into the plain student with the same logits."""

import copy
from typing import Any

import torch

from limbeck.models.textgcn import TextGcnOnGraph
from limbeck.models.word_student import WordStudentModel


def folded(network: Any) -> Any:
    """The same logits from narrower word vectors: E·Pᵀ·Wᵀ = E·(W·P)ᵀ, so that P becomes part of the next layers.

    A graph convolution becomes the table that it computes for its words.

    E is the table (words, rank), P the projection to the width that the layers W read. A student that has no P, or
    does not read words, is returned unchanged.
    """
    if isinstance(network, TextGcnOnGraph):
        return network.as_table()
    if not isinstance(network, WordStudentModel) or network.widening is None:
        return network
    config = copy.deepcopy(network.config)
    config.embedding_size, config.vector_rank = config.vector_rank, None
    weights = network.state_dict()
    widening = weights.pop("widening.weight").double()  # (width, rank)
    for name in network.vector_readers():
        product = torch.einsum("ow...,wr->or...", weights[name].double(), widening)
        weights[name] = product.to(weights[name].dtype)
    plain = type(network)(config)
    plain.load_state_dict(weights)
    return plain.train(network.training)
