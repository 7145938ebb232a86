"""Which pairs of texts are worth comparing: those whose MinHash signatures agree in a whole band."""

import numpy as np
import numpy.typing as npt

from limbeck.errors import DependencyMissing
from limbeck.transfer.shingles import Numbers, Shingles, mixed

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
