"""A student whose word vectors are a product, as the plain student that says the same."""

import copy
from typing import Any

import torch

from limbeck.models.word_student import WordStudentModel


def folded(network: Any) -> Any:
    """The same logits from narrower word vectors: E·Pᵀ·Wᵀ = E·(W·P)ᵀ, so that P becomes part of the layers behind.

    E is the table (words, rank), P what makes its rows as wide as the layers W read them. A student that has no P, or
    is none of words, is given back as it is.
    """
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
