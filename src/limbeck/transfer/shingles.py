"""Texts as sets of shingles, short runs of words or characters, by which near duplicates are recognised.

The shingles of an English text are its words and pairs of neighbouring words, those of a Chinese one runs of three
characters. Both suit texts of a few words: a changed word changes three shingles of an English sentence, a changed
character three of a Chinese one. At a similarity of 0.8, a sentence of a dozen words may differ in one word, and a
shorter one in none ("I certainly did", "I certainly didn't": the meaning often depends on one word). With runs of
characters those two would count as the same, and words alone would ignore their order. The ends of a text count as
neighbours, since a word added there is a change too. Case, width, white space and punctuation are ignored.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from limbeck.text.folding import folded_letters

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint64]
Piece = tuple[str, str | None]  # a text, and the second one of a pair

CHARACTERS_IN_A_RUN, WORDS_IN_A_RUN = 3, 2
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio: an odd number without a pattern
SECOND_TEXT = np.uint64(0xD1B54A32D192ED03)
HALF = np.uint64(32)
APOSTROPHES = "'’ʼ`´"  # "don't" is one word


@dataclass(frozen=True)
class Shingles:
    """For every text the hashes of its shingles, distinct and sorted; all in one array."""

    hashes: npt.NDArray[np.uint32]
    counts: Numbers  # (texts)

    @property
    def starts(self) -> Numbers:
        """(texts): where the hashes of each text begin."""
        return np.cumsum(self.counts) - self.counts

    def select(self, is_wanted: npt.NDArray[np.bool_]) -> "Shingles":
        """The shingles of the wanted texts."""
        return Shingles(self.hashes[np.repeat(is_wanted, self.counts)], self.counts[is_wanted])

    def smallest(self, most: int) -> "Shingles":
        """The smallest hashes of every text, at most `most` of each."""
        position = np.arange(len(self.hashes)) - np.repeat(self.starts, self.counts)
        return Shingles(self.hashes[position < most], np.minimum(self.counts, most))


def shingles_of(pieces: Sequence[Piece], *, language: str) -> Shingles:
    """The shingles of texts; for a pair those of both texts, with different hashes."""
    texts = [text for text, _ in pieces]
    pairs = [pair for _, pair in pieces if pair is not None]
    rows, hashes = _shingles(texts, language)
    if pairs:
        second_rows, second_hashes = _shingles(pairs, language)
        rows, hashes = np.concatenate([rows, second_rows]), np.concatenate([hashes, second_hashes ^ SECOND_TEXT])
    ordered = np.sort(rows.astype(np.uint64) << HALF | mixed(hashes) >> HALF)
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    ordered = ordered[is_new]
    counts = np.bincount((ordered >> HALF).astype(np.int64), minlength=len(texts))
    return Shingles(ordered.astype(np.uint32), counts)


def mixed(numbers: Codes) -> Codes:
    """Hashed numbers: every bit depends on all bits of the input (the last steps of splitmix64)."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ numbers >> np.uint64(31)


def _shingles(texts: Sequence[str], language: str) -> tuple[Numbers, Codes]:
    """For every shingle the number of its text and a hash."""
    rows, codes, is_counted = _characters([folded_letters(text) for text in texts])
    if language == "zh":
        return _runs(rows[is_counted], codes[is_counted], size=CHARACTERS_IN_A_RUN, texts=len(texts))
    rows, words = _words(rows, codes, is_counted)
    run_rows, runs = _runs(rows, words, size=WORDS_IN_A_RUN, texts=len(texts))
    return np.concatenate([rows, run_rows]), np.concatenate([words, runs])


def _characters(texts: Sequence[str]) -> tuple[Numbers, Codes, npt.NDArray[np.bool_]]:
    """For every character of all texts except apostrophes: the number of its text, its code, and whether it counts."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    rows = np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    is_left = ~np.isin(codes, [ord(character) for character in APOSTROPHES])
    return rows[is_left], codes[is_left].astype(np.uint64), _counting()[codes[is_left]]


def _words(rows: Numbers, codes: Codes, is_counted: npt.NDArray[np.bool_]) -> tuple[Numbers, Codes]:
    """For every run of characters that count: the number of its text and a hash."""
    starts_here = is_counted.copy()
    starts_here[1:] &= ~(is_counted[:-1] & (rows[1:] == rows[:-1]))
    starts = np.flatnonzero(starts_here[is_counted])
    if not len(starts):
        return rows[:0], codes[:0]
    lengths = np.diff(starts, append=np.count_nonzero(is_counted))
    position = np.arange(lengths.sum()) - np.repeat(starts, lengths)
    hashes = mixed(codes[is_counted] * MULTIPLIER + position.astype(np.uint64))
    return rows[is_counted][starts], np.add.reduceat(hashes, starts)


def _runs(rows: Numbers, units: Codes, *, size: int, texts: int) -> tuple[Numbers, Codes]:
    """For every run of `size` units, also those that extend beyond an end of the text: its text and a hash."""
    gap = size - 1
    padded = np.zeros(len(units) + (texts + 1) * gap, dtype=np.uint64)  # zeros before, between and after the texts
    places = np.arange(len(units)) + (rows + 1) * gap
    padded[places] = units
    lengths = np.bincount(rows, minlength=texts)
    counts = np.where(lengths > 0, lengths + gap, 0)
    firsts = np.cumsum(lengths) - lengths + np.arange(texts) * gap  # where the first run of each text begins
    starts = np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    hashes = np.zeros(len(starts), dtype=np.uint64)
    for offset in range(size):
        hashes = (hashes + padded[starts + offset]) * MULTIPLIER
    return np.repeat(np.arange(texts), counts), hashes


@cache
def _counting() -> npt.NDArray[np.bool_]:
    """For every code point whether it counts: punctuation, white space and control characters do not."""
    categories = (unicodedata.category(chr(code))[0] for code in range(0x110000))
    return np.fromiter((category not in "PZC" for category in categories), dtype=np.bool_, count=0x110000)
