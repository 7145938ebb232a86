"""New pairs: a text beside another one of train that shares its rarer words (Thakur et al. 2021, arXiv:2010.08240)."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from limbeck.artifacts.rows import Rows, content_key
from limbeck.augmentation.method import Bench, Dice, PairMethod, SourceText, pick, texts_of
from limbeck.augmentation.words import cut_words
from limbeck.recipe.augmentation import Pairing
from limbeck.text.folding import folded


@dataclass(frozen=True)
class NewPairs(PairMethod):
    """Partners are drawn from the nearest texts, each as likely. A text without any keeps the partner it has."""

    probability: float
    texts: list[str]
    nearest: Mapping[bytes, "array[int]"]  # by content key of the text: places in `texts`
    kind: str = "pairing"

    def partner(self, source: SourceText, dice: Dice) -> str | None:
        """One of the nearest texts."""
        if dice.random() >= self.probability:
            return None
        near = self.nearest.get(source.key)
        return self.texts[near[pick(dice, len(near))]] if near else None


def pairing(section: Pairing, rows: Rows, bench: Bench) -> NewPairs:
    """Find the texts that are nearest to each text of the rows, whichever side of a pair they stand on."""
    # for this process alone: it brings scipy along

    texts = list({folded(text): text for text in texts_of(rows)}.values())  # spelled in two ways, a text is one
    words = [{word.lower() for word in cut_words(text, language=bench.language).words} for text in texts]
    near = nearest_texts(words, most=section.neighbours)
    places = {folded(text): place for place, text in enumerate(texts)}
    found = {content_key(text): array("i", near[places[folded(text)]]) for text in texts_of(rows)}
    return NewPairs(section.probability, texts, found)


ROWS_AT_ONCE = 512
TOO_COMMON, FEW = 0.1, 50  # a word of more than this share of the texts, and of more than a few, finds nothing


def nearest_texts(words: Sequence[Collection[str]], *, most: int) -> list[list[int]]:
    """For each text, given as its distinct words, the places of the others that are most like it, the nearest first.

    Likeness is the cosine of word vectors with log(texts / texts with the word) for every word. Texts that share no
    word but the commonest are not near; so there may be fewer than `most`, or none.
    """
    matrix, counts = _weights(words)
    searched = (counts > 1) & (counts <= max(FEW, TOO_COMMON * len(words)))
    columns = matrix[:, searched]
    back = columns.T.tocsr()
    found: list[list[int]] = []
    for start in range(0, len(words), ROWS_AT_ONCE):
        likeness = (columns[start : start + ROWS_AT_ONCE] @ back).tocsr()
        for row in range(likeness.shape[0]):
            inside = slice(likeness.indptr[row], likeness.indptr[row + 1])
            found.append(_best(likeness.indices[inside], likeness.data[inside], itself=start + row, most=most))
    return found


def _weights(words: Sequence[Collection[str]]) -> tuple[Any, npt.NDArray[np.int64]]:
    """(texts, words): rows of length 1; and in how many texts each word stands."""
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(word, len(numbers)) for text in words for word in sorted(text)]
    rows = np.repeat(np.arange(len(words)), [len(text) for text in words])
    counts = np.bincount(columns, minlength=len(numbers))
    weights = np.log(len(words) / np.maximum(counts, 1))
    matrix = csr_matrix((weights[columns], (rows, columns)), shape=(len(words), len(numbers)))
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return diags(1 / np.where(lengths > 0, lengths, 1)) @ matrix, counts


def _best(places: npt.NDArray[np.int32], scores: npt.NDArray[np.float64], *, itself: int, most: int) -> list[int]:
    """By likeness, and among equals by place; scores are rounded, so that all machines agree."""
    others = (places != itself) & (scores > 0)
    places, scores = places[others], scores[others].round(9)
    if len(places) > most:
        floor = np.partition(scores, len(scores) - most)[len(scores) - most]
        places, scores = places[scores >= floor], scores[scores >= floor]
    order = np.lexsort((places, -scores))[:most]
    return [int(place) for place in places[order]]
