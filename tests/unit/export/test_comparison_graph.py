"""Graphs that compare two texts: what is outside of them, and texts without a word."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from onnx import ModelProto

from limbeck.export.comparison_graph import JOIN, PROJECT
from limbeck.export.graphs import graph_of, int8_of
from limbeck.models.students import word_student
from limbeck.recipe.student import Bag, BiLstm

WORDS = 30
SECTIONS: list[BiLstm | Bag] = [
    BiLstm(pairing="attend", hidden_size=6, compare_size=5),
    BiLstm(pairing="attend", hidden_size=6, compare_size=5, layers=2),
    Bag(kind="bag", pairing="attend", compare_size=5),
]


def student(section: BiLstm | Bag) -> Any:
    torch.manual_seed(0)
    return word_student(section, vocabulary_size=WORDS, embedding_size=9, labels=["a", "b"], pair=True).eval()


def logits_of(
    graph: ModelProto, texts: list[list[int]], pairs: list[list[int]], *, padding: int
) -> npt.NDArray[np.float32]:
    """With so many ids behind the longest text of each column, none of which is padding's."""
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    feed: dict[str, npt.NDArray[Any]] = {}
    for ids, lengths, column in (("input_ids", "lengths", texts), ("pair_ids", "pair_lengths", pairs)):
        width = max(1, *map(len, column)) + padding
        feed[ids] = np.full((len(column), width), 4, dtype=np.int64)  # a word that occurs in the other text too
        for row, text in enumerate(column):
            feed[ids][row, : len(text)] = text
            feed[ids][row, 0] = text[0] if text else 0
        feed[lengths] = np.array([len(text) for text in column], dtype=np.int32)
    found: npt.NDArray[np.float32] = session.run(["logits"], feed)[0]
    return found


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.kind}-{getattr(section, 'layers', 0)}")
def test_what_is_outside_of_either_text_changes_no_logit(section: BiLstm | Bag) -> None:
    """Rows of any lengths, drawn at random, also without a word, in batches of their own and together."""
    network = student(section)
    graph, dice = graph_of(network), np.random.default_rng(3)
    texts, pairs = ([dice.integers(1, WORDS, length).tolist() for length in dice.integers(0, 9, 40)] for _ in range(2))
    texts[0], pairs[1] = [], []

    together = logits_of(graph, texts, pairs, padding=0)

    np.testing.assert_allclose(logits_of(graph, texts, pairs, padding=7), together, atol=1e-5)
    for text, pair, expected in zip(texts, pairs, together, strict=True):
        alone = logits_of(graph, [text], [pair], padding=0)[0]
        np.testing.assert_allclose(alone, expected, atol=1e-5)
        with torch.inference_mode():
            trained = network(torch.tensor([text or [0]]), pair_ids=torch.tensor([pair or [0]])).logits[0]
        np.testing.assert_allclose(trained.numpy(), expected, atol=1e-4)


def test_both_matrices_of_a_comparison_are_multiplied_as_integers() -> None:
    network = student(SECTIONS[0])

    int8 = int8_of(network, graph_of(network))

    multiplied = [part.input[1] for part in int8.graph.node if part.op_type == "DynamicQuantizeMatMul"]
    assert sorted(multiplied) == sorted([PROJECT, PROJECT, JOIN, JOIN])  # of each text
