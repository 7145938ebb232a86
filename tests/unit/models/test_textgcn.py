"""A graph convolution against the same formula on dense matrices; and the table that it becomes."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor

from limbeck.models.folding import folded
from limbeck.models.textgcn import GraphOfTraining, Propagation, TextGcnOnGraph, textgcn_on_graph
from limbeck.recipe.textgcn import TextGcn

WORDS, LABELS = 7, ["a", "b"]
IDS = torch.tensor([[3, 4, 3, 0], [5, 6, 0, 0]])


def dense(rows: int, columns: int, seed: int) -> Any:
    return np.random.default_rng(seed).random((rows, columns)) * (
        np.random.default_rng(seed + 9).random((rows, columns)) > 0.5
    )


WORD_EDGES, FROM_DOCUMENTS = dense(WORDS, WORDS, 0), dense(WORDS, 4, 1)
SCALE = torch.linspace(0.5, 1.5, WORDS)


def network(*, pair: bool = False, dropout: float = 0.0) -> TextGcnOnGraph:
    torch.manual_seed(0)
    section = TextGcn(kind="textgcn", hidden_size=5, dropout=dropout)
    model = textgcn_on_graph(section, vocabulary_size=WORDS, embedding_size=5, labels=LABELS, pair=pair)
    words, from_documents = (Propagation.of(csr_array(matrix)) for matrix in (WORD_EDGES, FROM_DOCUMENTS))
    model.attach(GraphOfTraining(words, from_documents, SCALE))
    with torch.no_grad():
        model.rarity.weight.copy_(torch.arange(WORDS)[:, None] / 2.0)
    return model


def by_hand(model: TextGcnOnGraph) -> Tensor:
    """The logits of IDS, from dense matrices."""
    assert model.documents is not None
    vectors = torch.cat([model.embeddings.weight, model.documents])
    edges = torch.from_numpy(np.concatenate([WORD_EDGES, FROM_DOCUMENTS], axis=1)).float()
    states = torch.relu(edges @ vectors) * SCALE[:, None]
    texts = [IDS[0, :3], IDS[1, :2]]
    sums = [sum(states[word] * word / 2 for word in text) / (text.sum() / 2).sqrt() for text in texts]
    return torch.stack(sums) @ model.classifier.weight.T


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_logits_are_those_of_dense_matrices(mode: str) -> None:
    model = network().train(mode == "train")

    torch.testing.assert_close(model(IDS).logits, by_hand(model))


def test_gradients_are_those_of_dense_matrices() -> None:
    model = network().train()
    assert model.documents is not None
    weights = [model.embeddings.weight, model.documents, model.classifier.weight]

    own = torch.autograd.grad(model(IDS).logits.square().sum(), weights)

    torch.testing.assert_close(own, torch.autograd.grad(by_hand(model).square().sum(), weights))


def test_an_evaluation_sees_weights_that_changed_since() -> None:
    model = network().eval()
    assert model.documents is not None
    before = model(IDS).logits
    with torch.no_grad():
        model.documents.mul_(2.0)
        model.embeddings.weight.mul_(2.0)

    torch.testing.assert_close(model(IDS).logits, 2 * before)


def test_dropout_takes_words_and_numbers_of_states_and_only_in_training() -> None:
    model = network(dropout=0.5).train()

    assert not torch.equal(model(IDS).logits, model(IDS).logits)
    model.eval()
    torch.testing.assert_close(model(IDS).logits, by_hand(model))


@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
def test_the_table_answers_as_the_graph_does(pair: bool) -> None:
    model = network(pair=pair).eval()
    inputs = {"pair_ids": IDS.flip(0)} if pair else {}

    table = folded(model)

    torch.testing.assert_close(table(IDS, **inputs).logits, model(IDS, **inputs).logits)
    assert table.embeddings.weight.shape == (WORDS, 5 if pair else len(LABELS))
    assert folded(table) is table


def test_a_text_without_a_known_word_is_all_zeros() -> None:
    assert network().eval()(torch.tensor([[0, 0]])).logits.tolist() == [[0.0, 0.0]]
