"""The normalised edges of a graph convolution."""

import numpy as np

from limbeck.distillation.graph_vocabulary import graph_of_training, inverse_root
from limbeck.distillation.word_graph import WordGraph

DOCUMENTS = [np.array(words) for words in ([0, 1, 2], [0, 1], [2, 3], [0, 0])]


def test_edges_are_divided_by_the_roots_of_the_degrees_of_both_ends() -> None:
    graph = WordGraph.of(DOCUMENTS, words=4, window=2)
    of_words, of_documents = graph.degrees()

    found = graph_of_training(graph)

    words = (graph.words.toarray() + np.eye(4)) / np.sqrt(np.outer(of_words, of_words))
    np.testing.assert_allclose(found.words.forward.to_dense().numpy(), words, rtol=1e-5)
    np.testing.assert_allclose(found.words.backward.to_dense().numpy(), words.T, rtol=1e-5)
    joined = graph.documents.toarray().T / np.sqrt(np.outer(of_words, of_documents))
    np.testing.assert_allclose(found.from_documents.forward.to_dense().numpy(), joined, rtol=1e-5)
    np.testing.assert_allclose(found.scale.numpy(), 1 / np.sqrt(of_words), rtol=1e-5)


def test_a_node_without_edges_has_no_share() -> None:
    assert inverse_root(np.array([4.0, 0.0])).tolist() == [0.5, 0.0]
