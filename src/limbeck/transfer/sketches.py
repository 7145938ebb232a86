"""Sketches of texts, the smallest of their shingles' hashes, and how similar two texts are by them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.transfer.shingles import Numbers, Shingles

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
