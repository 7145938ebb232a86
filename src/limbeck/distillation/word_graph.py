"""A graph of words and documents as sparse matrices: how often words meet in windows, and TF-IDF of documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Sparse: TypeAlias = Any  # scipy.sparse.csr_matrix: scipy is untyped
Floats = npt.NDArray[np.float64]
WINDOWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class WordGraph:
    """Edges between words, between documents and words, and the rarity of words (Yao et al. 2019, section 3.2)."""

    words: Sparse  # (words, words): positive pointwise mutual information; symmetric, with zeros on the diagonal
    documents: Sparse  # (documents, words): TF-IDF, counts times rarity
    rarity: Floats  # (words): ln(documents / documents with the word); 0 for words without an occurrence

    @classmethod
    def of(cls, documents: Sequence[npt.NDArray[np.int64]], *, words: int, window: int) -> "WordGraph":
        """The graph of documents that are numbers of words, in order."""
        from scipy.sparse import diags_array

        counts = _counts(documents, words=words)
        having = np.asarray((counts > 0).sum(axis=0)).ravel()
        rarity = np.where(having > 0, np.log(max(len(documents), 1) / np.maximum(having, 1)), 0.0)
        weighted = (counts @ diags_array(rarity)).tocsr()
        return cls(mutual_information(documents, words=words, window=window), weighted, rarity)

    def degrees(self) -> tuple[Floats, Floats]:
        """The sums of all edges of each word, its edge to itself included, and of each document, without one."""
        of_words = _sums(self.words, axis=1) + _sums(self.documents, axis=0) + 1.0
        return of_words, _sums(self.documents, axis=1)


def mutual_information(documents: Sequence[npt.NDArray[np.int64]], *, words: int, window: int) -> Sparse:
    """(words, words): ln p(i, j) / (p(i) p(j)) where that is positive, else 0; p are shares of windows.

    A window slides over a document word by word; a shorter document is one window. A word counts once per window.
    """
    from scipy.sparse import csr_array

    together, windows = csr_array((words, words), dtype=np.float64), 0
    for block in _blocks(documents, window=window):
        inside = _counts(block, words=words)
        inside.data[:] = 1.0
        together = together + inside.T @ inside
        windows += len(block)
    alone, pairs = together.diagonal(), together.tocoo()
    rows, columns = pairs.coords
    values = np.log(pairs.data * windows / (alone[rows] * alone[columns]))
    kept = (rows != columns) & (values > 0)
    return csr_array((values[kept], (rows[kept], columns[kept])), shape=(words, words))


def _blocks(documents: Sequence[npt.NDArray[np.int64]], *, window: int) -> Iterator[list[npt.NDArray[np.int64]]]:
    """All windows of all documents, each with every word once, some thousand at a time."""
    block: list[npt.NDArray[np.int64]] = []
    for document in documents:
        for start in range(max(1, len(document) - window + 1)):
            block.append(np.unique(document[start : start + window]))
        if len(block) >= WINDOWS_AT_ONCE:
            yield block
            block = []
    yield block


def _counts(documents: Sequence[npt.NDArray[np.int64]], *, words: int) -> Sparse:
    """(documents, words): how often each word occurs."""
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *map(len, documents)])
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *documents])
    found = csr_array((np.ones(len(numbers)), numbers, ends), shape=(len(documents), words))
    found.sum_duplicates()
    return found


def _sums(matrix: Sparse, *, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel()
