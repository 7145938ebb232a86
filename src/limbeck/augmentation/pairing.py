"""New pairs: a text with another one of train that shares its rarer words (Thakur et al. 2021, arXiv:2010.08240)."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.method import PairMethod, PreparationContext, Rng, SourceText, pick, texts_of
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import Pairing
from limbeck.text.folding import folded


@dataclass(frozen=True)
class NewPairs(PairMethod):
    """Partners are drawn from the nearest texts, each equally likely. A text without near texts keeps its partner."""

    probability: float
    texts: list[str]
    nearest: Mapping[bytes, "array[int]"]  # by content key of the text: positions in `texts`
    kind: str = "pairing"

    def partner(self, source: SourceText, rng: Rng) -> str | None:
        """One of the nearest texts."""
        if rng.random() >= self.probability:
            return None
        near = self.nearest.get(source.key)
        return self.texts[near[pick(rng, len(near))]] if near else None


def pairing(section: Pairing, rows: Rows, context: PreparationContext) -> NewPairs:
    """Find the nearest texts of each text of the rows, on either side of a pair."""
    texts = list({folded(text): text for text in texts_of(rows)}.values())  # spellings of one text are merged
    words = [{word.lower() for word in cut_words(text, language=context.language).words} for text in texts]
    near = nearest_texts(words, most=section.neighbours)
    positions = {folded(text): position for position, text in enumerate(texts)}
    found = {content_key(text): array("i", near[positions[folded(text)]]) for text in texts_of(rows)}
    return NewPairs(section.probability, texts, found)


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
