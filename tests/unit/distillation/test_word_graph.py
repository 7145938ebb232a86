"""Edges of a graph of words and documents, worked by hand."""

import math

import numpy as np
import pytest

from limbeck.distillation import word_graph as room
from limbeck.distillation.word_graph import WordGraph, mutual_information

A, B, C, D = 0, 1, 2, 3
DOCUMENTS = [np.array(words) for words in ([A, B, C], [A, B], [C, D], [A, A])]


def test_pairs_that_meet_more_often_than_by_chance_have_an_edge() -> None:
    """Windows of 2: AB, BC, AB, CD, A. Of these 5, A is in 3, B in 3, C in 2, D in 1, and AB in 2."""
    found = mutual_information(DOCUMENTS, words=4, window=2).toarray()

    assert found[A, B] == pytest.approx(math.log(2 * 5 / (3 * 3)))
    assert found[C, D] == pytest.approx(math.log(1 * 5 / (2 * 1)))
    assert found[B, C] == 0.0  # ln 5/6 is below zero
    assert found[A, C] == 0.0  # never in one window
    assert (found == found.T).all()
    assert (found.diagonal() == 0).all()


def test_a_short_document_is_one_window_and_a_word_counts_once_in_it() -> None:
    found = mutual_information(DOCUMENTS, words=4, window=20).toarray()

    assert found[A, B] == pytest.approx(math.log(2 * 4 / (3 * 2)))
    assert found[A, A] == 0.0


def test_windows_are_counted_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    together = mutual_information(DOCUMENTS, words=4, window=2).toarray()
    monkeypatch.setattr(room, "WINDOWS_AT_ONCE", 1)

    np.testing.assert_allclose(mutual_information(DOCUMENTS, words=4, window=2).toarray(), together)


def test_documents_are_linked_by_counts_times_rarity() -> None:
    graph = WordGraph.of(DOCUMENTS, words=5, window=2)

    assert graph.rarity.tolist() == pytest.approx([math.log(4 / 3), math.log(2), math.log(2), math.log(4), 0.0])
    assert graph.documents.toarray()[3].tolist() == pytest.approx([2 * math.log(4 / 3), 0, 0, 0, 0])
    of_words, of_documents = graph.degrees()
    assert of_documents[1] == pytest.approx(math.log(4 / 3) + math.log(2))
    assert of_words[D] == pytest.approx(math.log(5 / 2) + math.log(4) + 1)
    assert of_words[4] == 1.0  # a word that no document has is linked to itself alone
