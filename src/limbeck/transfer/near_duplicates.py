"""Finding texts that are nearly ones seen before: MinHash proposes pairs, their shingles decide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.errors import DependencyMissing
from limbeck.transfer.shingles import Numbers, Piece, Shingles, mixed, shingles_of

# Of each text so many hashes are kept: all of a sentence; of a longer text those that a bottom-k sketch needs.
SKETCH = 128
PAIRS_AT_ONCE = 1 << 14


class Sketches:
    """The sketches of texts under the numbers 0, 1, …"""

    def __init__(self) -> None:
        self._hashes = _Growing(np.uint32)
        self._starts = _Growing(np.int64)
        self._counts = _Growing(np.int64)
        self._sizes = _Growing(np.int64)

    def __len__(self) -> int:
        return self._sizes.length

    @classmethod
    def of(cls, texts: Shingles) -> "Sketches":
        """Of these texts alone."""
        sketches = cls()
        sketches.add(texts)
        return sketches

    def add(self, texts: Shingles) -> None:
        """Those of more texts."""
        kept = texts.smallest(SKETCH)
        self._starts.append(kept.starts + self._hashes.length)
        self._hashes.append(kept.hashes)
        self._counts.append(kept.counts)
        self._sizes.append(texts.counts)

    def similarity(self, numbers: Numbers, others: "Sketches", other_numbers: Numbers) -> npt.NDArray[np.float64]:
        """(pairs): Jaccard's, shared shingles by all shingles of the two texts; of a text without any it is 0.

        It is exact for texts of at most 128 shingles. Of a longer one the 128 smallest hashes of both together are
        looked at, which are a random sample of all: the standard deviation is at most 0.045.
        """
        parts = [
            self._similarity(numbers[at : at + PAIRS_AT_ONCE], others, other_numbers[at : at + PAIRS_AT_ONCE])
            for at in range(0, len(numbers), PAIRS_AT_ONCE)
        ]
        return np.concatenate([np.empty(0), *parts])

    def size_ratio(self, numbers: Numbers, others: "Sketches", other_numbers: Numbers) -> npt.NDArray[np.float64]:
        """(pairs): shingles of the smaller text by those of the larger; no pair is more similar than that."""
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
        """The hashes of these texts, each with the number of its pair in the upper half."""
        counts = self._counts.values[numbers]
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        hashes = self._hashes.values[np.repeat(self._starts.values[numbers], counts) + steps]
        pairs = np.repeat(np.arange(len(numbers), dtype=np.uint64), counts)
        return np.asarray(pairs << np.uint64(32) | hashes)


class _Growing:
    """An array to whose end more can be put; it is copied only when its room has doubled."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._room: npt.NDArray[Any] = np.empty(1024, dtype=kind)
        self.length = 0

    @property
    def values(self) -> npt.NDArray[Any]:
        """What it holds."""
        return self._room[: self.length]

    def append(self, more: npt.NDArray[Any]) -> None:
        """Put more to its end."""
        needed = self.length + len(more)
        if needed > len(self._room):
            room = np.empty(max(needed, 2 * len(self._room)), dtype=self._room.dtype)
            room[: self.length] = self.values
            self._room = room
        self._room[self.length : needed] = more
        self.length = needed


SIGNATURE = 64  # numbers in a MinHash signature
SEED = 2019
FOUND = 0.95  # of the pairs that are just similar enough, at least so many shall be proposed
MOST_PROPOSED = 16  # texts with the same band, first comers first: many texts from one mould stay affordable
HALF, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)

Pairs = tuple[Numbers, Numbers]
Entries = npt.NDArray[np.uint64]  # sorted; the key of a band in the upper half, the number of its text in the lower


class Bands:
    """Texts under numbers, by the bands of their signatures.

    Signatures of texts with similarity s agree in one place with probability s, in a band of w places with sʷ, and in
    one or more of b bands with 1 - (1 - sʷ)ᵇ. The widest bands are taken that still find pairs at the threshold.
    """

    def __init__(self, threshold: float) -> None:
        self.width = max(
            width for width in range(1, SIGNATURE) if width == 1 or _found(threshold, width=width) >= FOUND
        )
        self._levels: list[Entries] = []  # each more than twice as long as the one after it

    def entries(self, texts: Shingles) -> Entries:
        """An entry for every band of every text, under the text's position. Keys of 32 bits are hashes of the bands."""
        count = SIGNATURE // self.width
        places = _signatures(texts)[:, : count * self.width].reshape(-1, count, self.width)
        keys = np.broadcast_to(np.arange(count, dtype=np.uint64), places.shape[:2])
        for place in range(self.width):
            keys = mixed(keys << HALF ^ keys >> HALF ^ places[:, :, place])
        positions = np.arange(len(texts.counts), dtype=np.uint64)
        return np.sort((keys & ~LOWER | positions[:, None]).ravel())

    def add(self, entries: Entries, *, first: int) -> None:
        """Know the texts of these entries under their positions, counted from `first`."""
        self._levels.append(entries + np.uint64(first))
        while len(self._levels) > 1 and len(self._levels[-2]) <= 2 * len(self._levels[-1]):
            merged = np.concatenate([self._levels.pop(-2), self._levels.pop()])
            merged.sort(kind="stable")  # two sorted parts: they are merged
            self._levels.append(merged)

    def proposed(self, entries: Entries) -> Pairs:
        """Pairs of a position in the entries and a known number with the same band, each once, in rising order."""
        return _distinct([_lookup(entries, level) for level in self._levels])


def select_entries(entries: Entries, is_wanted: npt.NDArray[np.bool_]) -> Entries:
    """Those of some of the texts, under their positions among these."""
    entries = entries[is_wanted[_numbers(entries)]]
    return entries & ~LOWER | (np.cumsum(is_wanted) - 1)[_numbers(entries)].astype(np.uint64)


def proposed_among(entries: Entries) -> Pairs:
    """Pairs of a position and one before it with the same band, each once, in rising order."""
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
    """The numbers in entries and in known ones of the same key; a pair may come more than once."""
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
TEXTS_AT_ONCE, CHARACTERS_AT_ONCE = 8_192, 1 << 20  # the traits of so many take some 100 MB while they are found


@dataclass(frozen=True)
class Traits:
    """What texts are compared by."""

    shingles: Shingles
    entries: Entries

    @cached_property
    def sketches(self) -> Sketches:
        """The sketches of the texts."""
        return Sketches.of(self.shingles)

    def select(self, is_wanted: npt.NDArray[np.bool_]) -> "Traits":
        """Those of some of the texts."""
        return Traits(self.shingles.select(is_wanted), select_entries(self.entries, is_wanted))


class NearTexts:
    """Known texts under the numbers 0, 1, …, and which others are as similar to them as the threshold says."""

    def __init__(self, threshold: float, *, language: str) -> None:
        self._threshold, self._language = threshold, language
        self._bands = Bands(threshold)
        self._sketches = Sketches()

    def traits(self, pieces: Sequence[Piece]) -> Traits:
        """The traits of texts; they serve for all collections of the same threshold and language."""
        shingles = shingles_of(pieces, language=self._language)
        return Traits(shingles, self._bands.entries(shingles))

    def add(self, texts: Traits) -> None:
        """Know these texts too."""
        self._bands.add(texts.entries, first=len(self._sketches))
        self._sketches.add(texts.shingles)

    def similar(self, texts: Traits) -> Pairs:
        """Pairs of a text of these and a known one that are similar: positions and numbers, in rising order."""
        return self._decided(self._bands.proposed(texts.entries), texts.sketches, self._sketches)

    def add_new(self, texts: Traits) -> npt.NDArray[np.bool_]:
        """(texts): whether each is new, i.e. neither similar to a known text nor to a new one before it.

        The new ones are known from then on; the others are forgotten.
        """
        is_new = np.ones(len(texts.shingles.counts), dtype=np.bool_)
        is_new[self.similar(texts)[0]] = False
        among = self._decided(proposed_among(texts.entries), texts.sketches, texts.sketches)
        for later, earlier in zip(*among, strict=True):  # by rising `later`, so it is settled whether `earlier` is new
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
    """The texts in their order, as many at a time as traits are to be found of at once."""
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
    """Whether a block of so many is large enough."""
    return texts >= TEXTS_AT_ONCE or characters >= CHARACTERS_AT_ONCE
