"""The texts that are most like each text: by the rarer words that they share, or by vectors."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

ROWS_AT_ONCE = 512
TOO_COMMON, FEW = 0.1, 50  # a word in more than this share of the texts, and in more than 50, is not searched for


def nearest_texts(words: Sequence[Collection[str]], *, most: int) -> list[list[int]]:
    """For each text, given as its distinct words, the positions of the most similar others, the nearest first.

    Similarity is the cosine of vectors with log(texts / texts with the word) for every word. Texts that share only very
    common words are not near, so there may be fewer than `most`, or none.
    """
    matrix, counts = _weights(words)
    searched = (counts > 1) & (counts <= max(FEW, TOO_COMMON * len(words)))
    columns = matrix[:, searched]
    transposed = columns.T.tocsr()
    found: list[list[int]] = []
    for start in range(0, len(words), ROWS_AT_ONCE):
        similarity = (columns[start : start + ROWS_AT_ONCE] @ transposed).tocsr()
        for row in range(similarity.shape[0]):
            inside = slice(similarity.indptr[row], similarity.indptr[row + 1])
            found.append(_best(similarity.indices[inside], similarity.data[inside], itself=start + row, most=most))
    return found


def _weights(words: Sequence[Collection[str]]) -> tuple[Any, npt.NDArray[np.int64]]:
    """(texts, words): rows of length 1; and the number of texts with each word."""
    from scipy.sparse import csr_matrix, diags  # for training only: this room works without it

    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(word, len(numbers)) for text in words for word in sorted(text)]
    rows = np.repeat(np.arange(len(words)), [len(text) for text in words])
    counts = np.bincount(columns, minlength=len(numbers))
    weights = np.log(len(words) / np.maximum(counts, 1))
    matrix = csr_matrix((weights[columns], (rows, columns)), shape=(len(words), len(numbers)))
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return diags(1 / np.where(lengths > 0, lengths, 1)) @ matrix, counts


def _best(
    positions: npt.NDArray[np.int32], similarities: npt.NDArray[np.float64], *, itself: int, most: int
) -> list[int]:
    """By similarity, ties by position; similarities are rounded, so that all machines agree."""
    others = (positions != itself) & (similarities > 0)
    positions, similarities = positions[others], similarities[others].round(9)
    if len(positions) > most:
        floor = np.partition(similarities, len(similarities) - most)[len(similarities) - most]
        positions, similarities = positions[similarities >= floor], similarities[similarities >= floor]
    order = np.lexsort((positions, -similarities))[:most]
    return [int(position) for position in positions[order]]


def nearest_vectors(vectors: npt.NDArray[np.float32], *, most: int) -> list[list[int]]:
    """For each row of vectors of length 1, the positions of the others with the largest cosine, the nearest first."""
    count = min(most, len(vectors) - 1)
    found: list[list[int]] = []
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        cosines = vectors[start : start + ROWS_AT_ONCE] @ vectors.T
        here = np.arange(len(cosines))
        cosines[here, start + here] = -np.inf
        largest = np.argpartition(-cosines, count - 1, axis=1)[:, :count] if count else np.empty((len(here), 0), int)
        for row, positions in enumerate(largest):
            order = np.lexsort((positions, -cosines[row, positions].round(5)))
            found.append([int(position) for position in positions[order]])
    return found
