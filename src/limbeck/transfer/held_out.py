"""Finds rows of dev and test in unlabelled text: equal after folding, nearly equal, or truncated."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows, content_key, folded_key
from limbeck.text.folding import folded
from limbeck.transfer.near_duplicates import NearTexts, Traits, in_blocks
from limbeck.transfer.shingles import Piece

# Two texts whose first characters, folded, are the same over this length count as copies of one text, one of them
# truncated or extended; the complete texts need not be similar. English needs more characters than Chinese, because
# many English texts begin alike ("This is one of the worst movies I have").
OPENING = {"zh": 30}
OTHER_OPENING = 60


@dataclass
class _HeldOutSplit:
    exact: list[bytes]
    folded: list[bytes]
    first: int  # index of its first row among the rows of all splits
    exact_found: set[bytes] = field(default_factory=set)
    folded_found: set[bytes] = field(default_factory=set)
    near_found: set[int] = field(default_factory=set)  # positions in the split

    def counts(self) -> dict[str, int]:
        is_found = [key in self.folded_found for key in self.folded]
        return {
            "rows": len(self.folded),
            "found": sum(is_found),
            "verbatim": sum(key in self.exact_found for key in self.exact),
            "near": sum(not is_found[position] for position in self.near_found),
        }


class HeldOut:
    """The held-out rows, which must not be learned from, and which of them were found so far."""

    def __init__(self, corpus: Corpus, *, near_duplicates: float) -> None:
        self._is_exact = near_duplicates == 1
        self._opening_characters = OPENING.get(corpus.language, OTHER_OPENING)
        self._splits: dict[str, _HeldOutSplit] = {}
        self._openings: dict[str, list[int]] = defaultdict(list)
        self._near = NearTexts(near_duplicates, language=corpus.language)
        self._longest = self._rows = 0
        for name, rows in corpus.splits.items():
            if name != "train":
                self._add(name, list(pieces_of(rows)))
        self.keys = {key for split in self._splits.values() for key in split.folded}

    def holds(self, piece: Piece, key: bytes) -> bool:
        """Whether a row equals the piece, whose folded key is `key`; the row is then counted as found."""
        if key not in self.keys:
            return False
        exact = content_key(*piece)
        for split in self._splits.values():
            split.folded_found.add(key)
            split.exact_found.add(exact)
        return True

    def nearly_holds(self, pieces: Sequence[Piece], traits: Traits) -> npt.NDArray[np.bool_]:
        """(pieces): whether a row nearly equals the piece; the row is then counted as near."""
        positions, numbers = self._near.similar(traits)
        near = [*zip(positions.tolist(), numbers.tolist(), strict=True), *self._begun_alike(pieces)]
        is_near = np.zeros(len(pieces), dtype=np.bool_)
        for position, number in near:
            is_near[position] = True
            self._count_near(number)
        return is_near

    def could_hold(self, piece: Piece) -> bool:
        """False if the piece is much longer than every row and begins like none: then no row nearly equals it."""
        return len(piece[0]) <= 2 * self._longest or self._opening(piece) in self._openings

    def overlap(self) -> dict[str, dict[str, int]]:
        """For each split: its rows, and those found after folding, verbatim, and only nearly."""
        return {name: split.counts() for name, split in self._splits.items()}

    def _add(self, name: str, pieces: list[Piece]) -> None:
        exact = [content_key(*piece) for piece in pieces]
        self._splits[name] = _HeldOutSplit(exact, [folded_key(*piece) for piece in pieces], self._rows)
        if not self._is_exact:
            for block in in_blocks(pieces):
                self._near.add(self._near.traits(block))
            for number, piece in enumerate(pieces, start=self._rows):
                if opening := self._opening(piece):
                    self._openings[opening].append(number)
        self._longest = max([self._longest, *(len(text) for text, _ in pieces)])
        self._rows += len(pieces)

    def _begun_alike(self, pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
        for position, piece in enumerate(pieces):
            for number in self._openings.get(self._opening(piece), ()):
                yield position, number

    def _opening(self, piece: Piece) -> str:
        """The first characters of a text; empty for a shorter text and for a pair."""
        if piece[1] is not None:
            return ""
        start = folded(piece[0][: 4 * self._opening_characters])[: self._opening_characters]
        return start if len(start) == self._opening_characters else ""

    def _count_near(self, number: int) -> None:
        split = max((split for split in self._splits.values() if split.first <= number), key=lambda split: split.first)
        split.near_found.add(number - split.first)


def pieces_of(rows: Rows) -> Iterator[Piece]:
    """The text and the second text, if any, of each row."""
    pairs: Sequence[str | None] = rows.pairs if rows.pairs is not None else [None] * len(rows)
    return zip(rows.texts, pairs, strict=True)
