"""Finding texts that are nearly ones seen before: MinHash proposes pairs, their shingles decide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from limbeck.transfer.bands import Bands, Entries, Pairs, proposed_among, select_entries
from limbeck.transfer.shingles import Piece, Shingles, shingles_of
from limbeck.transfer.sketches import Sketches

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
