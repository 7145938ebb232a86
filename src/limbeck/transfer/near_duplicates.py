"""Finds near duplicates of known texts: MinHash proposes candidate pairs, their shingles decide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.errors import DependencyMissing
from limbeck.transfer.shingles import Numbers, Piece, Shingles, mixed, shingles_of

# The number of hashes kept of each text: all those of a sentence; of a longer text a bottom-k sketch.
SKETCH = 128
PAIRS_AT_ONCE = 1 << 14


class Sketches:
    """The sketches of texts, numbered 0, 1, …"""

    def __init__(self) -> None:
        self._hashes = _Growing(np.uint32)
        self._starts = _Growing(np.int64)
        self._counts = _Growing(np.int64)
        self._sizes = _Growing(np.int64)

    def __len__(self) -> int:
        return self._sizes.length

    @classmethod
    def of(cls, texts: Shingles) -> "Sketches":
        """The sketches of these texts."""
        sketches = cls()
        sketches.add(texts)
        return sketches

    def add(self, texts: Shingles) -> None:
        """Add the sketches of more texts."""
        kept = texts.smallest(SKETCH)
        self._starts.append(kept.starts + self._hashes.length)
        self._hashes.append(kept.hashes)
        self._counts.append(kept.counts)
        self._sizes.append(texts.counts)

    def similarity(self, numbers: Numbers, others: "Sketches", other_numbers: Numbers) -> npt.NDArray[np.float64]:
        """(pairs): Jaccard similarity, shared shingles over all shingles of the two texts; 0 for a text without any.

        It is exact for texts of at most 128 shingles. For a longer one it is estimated from the 128 smallest hashes of
        both together, a random sample of all: the standard deviation is at most 0.045.
        """
        parts = [
            self._similarity(numbers[at : at + PAIRS_AT_ONCE], others, other_numbers[at : at + PAIRS_AT_ONCE])
            for at in range(0, len(numbers), PAIRS_AT_ONCE)
        ]
        return np.concatenate([np.empty(0), *parts])

    def size_ratio(self, numbers: Numbers, others: "Sketches", other_numbers: Numbers) -> npt.NDArray[np.float64]:
        """(pairs): shingles of the smaller text over those of the larger; an upper bound of the similarity."""
        sizes, other_sizes = self._sizes.values[numbers], others._sizes.values[other_numbers]
        return np.asarray(np.minimum(sizes, other_sizes) / np.maximum(1, np.maximum(sizes, other_sizes)))

    def _similarity(self, numbers: Numbers, others: "Sketches", other_numbers: Numbers) -> npt.NDArray[np.float64]:
        count = len(numbers)
        ordered = np.sort(np.concatenate([self._of_pairs(numbers), others._of_pairs(other_numbers)]))
        pairs = (ordered >> np.uint64(32)).astype(np.int64)
        is_new = np.ones(len(ordered), dtype=np.bool_)
        is_new[1:] = ordered[1:] != ordered[:-1]
        distinct = np.bincount(pairs, weights=is_new, minlength=count)
        rank: npt.NDArray[Any] = np.cumsum(is_new) - np.repeat(
            np.cumsum(distinct) - distinct, np.bincount(pairs, minlength=count)
        )
        is_cut = np.maximum(self._counts.values[numbers], others._counts.values[other_numbers]) == SKETCH
        counts = rank <= np.where(is_cut, SKETCH, 2 * SKETCH)[pairs]
        shared = np.bincount(pairs, weights=counts & ~is_new, minlength=count)
        return np.asarray(shared / np.maximum(1, np.bincount(pairs, weights=counts & is_new, minlength=count)))

    def _of_pairs(self, numbers: Numbers) -> npt.NDArray[np.uint64]:
        """The hashes of these texts, each with the number of its pair in the upper 32 bits."""
        counts = self._counts.values[numbers]
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        hashes = self._hashes.values[np.repeat(self._starts.values[numbers], counts) + steps]
        pairs = np.repeat(np.arange(len(numbers), dtype=np.uint64), counts)
        return np.asarray(pairs << np.uint64(32) | hashes)


class _Growing:
    """An array that can be appended to; its capacity doubles when it is full."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._buffer: npt.NDArray[Any] = np.empty(1024, dtype=kind)
        self.length = 0

    @property
    def values(self) -> npt.NDArray[Any]:
        """The values appended so far."""
        return self._buffer[: self.length]

    def append(self, more: npt.NDArray[Any]) -> None:
        """Append values."""
        needed = self.length + len(more)
        if needed > len(self._buffer):
            larger = np.empty(max(needed, 2 * len(self._buffer)), dtype=self._buffer.dtype)
            larger[: self.length] = self.values
            self._buffer = larger
        self._buffer[self.length : needed] = more
        self.length = needed


SIGNATURE = 64  # numbers in a MinHash signature
SEED = 2019
FOUND = 0.95  # the least share of pairs exactly at the threshold that must be proposed
MOST_PROPOSED = 16  # texts per band, earliest first: keeps many texts from one template affordable
HALF, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)

Pairs = tuple[Numbers, Numbers]
Entries = npt.NDArray[np.uint64]  # sorted; the key of a band in the upper 32 bits, the number of its text in the lower


class Bands:
    """An index of numbered texts by the bands of their MinHash signatures (locality-sensitive hashing).

    Signatures of texts with similarity s agree in one position with probability s, in a band of w positions with sʷ,
    and in one or more of b bands with 1 - (1 - sʷ)ᵇ. The bands are as wide as possible while pairs at the threshold are
    still found.
    """

    def __init__(self, threshold: float) -> None:
        self.width = max(
            width for width in range(1, SIGNATURE) if width == 1 or _found(threshold, width=width) >= FOUND
        )
        self._levels: list[Entries] = []  # each more than twice as long as the one after it

    def entries(self, texts: Shingles) -> Entries:
        """An entry for every band of every text, with the text's position. Keys are 32-bit hashes of the bands."""
        count = SIGNATURE // self.width
        places = _signatures(texts)[:, : count * self.width].reshape(-1, count, self.width)
        keys = np.broadcast_to(np.arange(count, dtype=np.uint64), places.shape[:2])
        for place in range(self.width):
            keys = mixed(keys << HALF ^ keys >> HALF ^ places[:, :, place])
        positions = np.arange(len(texts.counts), dtype=np.uint64)
        return np.sort((keys & ~LOWER | positions[:, None]).ravel())

    def add(self, entries: Entries, *, first: int) -> None:
        """Add the texts of these entries; their numbers are their positions plus `first`."""
        self._levels.append(entries + np.uint64(first))
        while len(self._levels) > 1 and len(self._levels[-2]) <= 2 * len(self._levels[-1]):
            merged = np.concatenate([self._levels.pop(-2), self._levels.pop()])
            merged.sort(kind="stable")  # merges the two sorted parts
            self._levels.append(merged)

    def proposed(self, entries: Entries) -> Pairs:
        """Pairs of a position in the entries and the number of a known text with the same band, distinct and sorted."""
        return _distinct([_lookup(entries, level) for level in self._levels])


def select_entries(entries: Entries, is_wanted: npt.NDArray[np.bool_]) -> Entries:
    """The entries of the wanted texts, with positions counted among these."""
    entries = entries[is_wanted[_numbers(entries)]]
    return entries & ~LOWER | (np.cumsum(is_wanted) - 1)[_numbers(entries)].astype(np.uint64)


def proposed_among(entries: Entries) -> Pairs:
    """Pairs of a position and an earlier one with the same band, distinct and sorted."""
    later, earlier = _lookup(entries, entries)
    is_before = earlier < later
    return _distinct([(later[is_before], earlier[is_before])])


def _found(threshold: float, *, width: int) -> float:
    return 1 - float((1 - threshold**width) ** (SIGNATURE // width))


def _signatures(texts: Shingles) -> npt.NDArray[np.uint64]:
    try:
        from rensa import RMinHash
    except ImportError:
        raise DependencyMissing(package="rensa", purpose="finding near duplicates", extra="train") from None
    offsets = np.concatenate([[0], np.cumsum(texts.counts)]).astype(np.uint64)
    spread = mixed(texts.hashes.astype(np.uint64))
    rows = RMinHash.digest_matrix_from_flat_token_hashes(spread, offsets, SIGNATURE, SEED).to_rows()
    return np.array(rows, dtype=np.uint64).reshape(-1, SIGNATURE)


def _numbers(entries: Entries) -> Numbers:
    return (entries & LOWER).astype(np.int64)


def _lookup(entries: Entries, known: Entries) -> Pairs:
    """Pairs of numbers from `entries` and `known` that have the same key; a pair may occur more than once."""
    if not len(known):
        return _numbers(known), _numbers(known)
    starts = np.searchsorted(known, entries & ~LOWER)
    is_found = known[np.minimum(starts, len(known) - 1)] >> HALF == entries >> HALF
    starts, entries = starts[is_found], entries[is_found]
    counts = np.minimum(np.searchsorted(known, entries | LOWER, side="right") - starts, MOST_PROPOSED)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(_numbers(entries), counts), _numbers(known[np.repeat(starts, counts) + steps])


def _distinct(found: list[Pairs]) -> Pairs:
    none = np.empty(0, dtype=np.int64)
    both = np.sort(np.concatenate([none, *(positions << 32 | numbers for positions, numbers in found)]))
    both = both[np.diff(both, prepend=-1) > 0]
    return both >> 32, both & 0xFFFFFFFF


ROUNDING = 1e-9
TEXTS_AT_ONCE, CHARACTERS_AT_ONCE = 8_192, 1 << 20  # computing the traits of a block takes about 100 MB


@dataclass(frozen=True)
class Traits:
    """What texts are compared by: their shingles and their band entries."""

    shingles: Shingles
    entries: Entries

    @cached_property
    def sketches(self) -> Sketches:
        """The sketches of the texts."""
        return Sketches.of(self.shingles)

    def select(self, is_wanted: npt.NDArray[np.bool_]) -> "Traits":
        """The traits of the wanted texts."""
        return Traits(self.shingles.select(is_wanted), select_entries(self.entries, is_wanted))


class NearTexts:
    """Known texts, numbered 0, 1, …; finds which other texts are similar to them, with at least the threshold."""

    def __init__(self, threshold: float, *, language: str) -> None:
        self._threshold, self._language = threshold, language
        self._bands = Bands(threshold)
        self._sketches = Sketches()

    def traits(self, pieces: Sequence[Piece]) -> Traits:
        """The traits of texts; valid for all collections with the same threshold and language."""
        shingles = shingles_of(pieces, language=self._language)
        return Traits(shingles, self._bands.entries(shingles))

    def add(self, texts: Traits) -> None:
        """Add these texts to the known ones."""
        self._bands.add(texts.entries, first=len(self._sketches))
        self._sketches.add(texts.shingles)

    def similar(self, texts: Traits) -> Pairs:
        """Similar pairs of one of these texts and a known one: positions and numbers, sorted."""
        return self._decided(self._bands.proposed(texts.entries), texts.sketches, self._sketches)

    def add_new(self, texts: Traits) -> npt.NDArray[np.bool_]:
        """(texts): whether each is new, i.e. not similar to a known text or to an earlier new one.

        The new ones are added to the known texts; the others are not.
        """
        is_new = np.ones(len(texts.shingles.counts), dtype=np.bool_)
        is_new[self.similar(texts)[0]] = False
        among = self._decided(proposed_among(texts.entries), texts.sketches, texts.sketches)
        for later, earlier in zip(*among, strict=True):  # sorted by `later`, so `is_new[earlier]` is final
            is_new[later] &= not is_new[earlier]
        self.add(texts.select(is_new))
        return is_new

    def _decided(self, proposed: Pairs, texts: Sketches, known: Sketches) -> Pairs:
        positions, numbers = proposed
        enough = self._threshold - ROUNDING
        is_likely = texts.size_ratio(positions, known, numbers) >= enough
        positions, numbers = positions[is_likely], numbers[is_likely]
        is_similar = texts.similarity(positions, known, numbers) >= enough
        return positions[is_similar], numbers[is_similar]


def in_blocks(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """The texts in order, in blocks whose traits are computed together."""
    block: list[Piece] = []
    characters = 0
    for piece in pieces:
        block.append(piece)
        characters += len(piece[0]) + len(piece[1] or "")
        if is_full(texts=len(block), characters=characters):
            yield block
            block, characters = [], 0
    if block:
        yield block


def is_full(*, texts: int, characters: int) -> bool:
    """Whether a block of this size is full."""
    return texts >= TEXTS_AT_ONCE or characters >= CHARACTERS_AT_ONCE
