"""What becomes of each unlabelled text: cut into pieces, then each piece kept or dropped, and everything counted."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import Rows, content_key
from limbeck.corpus.labelled import folded_key
from limbeck.corpus.splits import draw_order
from limbeck.recipe.transfer import Transfer
from limbeck.text.sentences import split_sentences, word_count

Piece = tuple[str, str | None]


@dataclass
class _HeldOut:
    """A split whose rows must not be learned from, and which of them the transfer text holds."""

    exact: list[bytes]
    folded: list[bytes]
    exact_found: set[bytes]
    folded_found: set[bytes]

    @classmethod
    def of(cls, rows: Rows) -> "_HeldOut":
        pieces = list(_pieces_of(rows))
        exact = [content_key(text, pair) for text, pair in pieces]
        return cls(exact, [folded_key(text, pair) for text, pair in pieces], set(), set())


class Sieve:
    """Texts are poured in one by one; only hashes of what was seen are held, and no more texts than are kept."""

    def __init__(self, section: Transfer, *, corpus: Corpus) -> None:
        self._section, self._language = section, corpus.language
        self._held_out = {name: _HeldOut.of(rows) for name, rows in corpus.splits.items() if name != "train"}
        self._held_out_keys = {key for split in self._held_out.values() for key in split.folded}
        self._train_keys = {folded_key(text, pair) for text, pair in _pieces_of(corpus.splits["train"])}
        self._seen: set[bytes] = set()
        self._kept: list[tuple[int, Piece]] = []
        self._drawn: list[tuple[int, int, Piece]] = []  # a heap whose top is the piece drawn last
        self.fresh = 0  # pieces that passed everything, before `rows` are drawn of them
        self.counts = dict.fromkeys(
            ("texts_read", "pieces", "too_short", "too_long", "in_dev_or_test", "duplicates", "in_train"), 0
        )

    def pour(self, text: str, pair: str | None) -> None:
        """Put one text of a file through."""
        self.counts["texts_read"] += 1
        whole = (text.strip(), None if pair is None else pair.strip())
        pieces = self._cut(whole)
        # A held-out text is also looked for uncut: its sentences alone would not be recognised.
        if pieces != [whole] and self._is_held_out(whole, folded_key(*whole)):
            return
        for piece in pieces:
            self.counts["pieces"] += 1
            self._judge(piece)

    def kept(self) -> list[Piece]:
        """The pieces that stay, in the order in which they came."""
        drawn = [(number, piece) for _, number, piece in self._drawn]
        return [piece for _, piece in sorted(self._kept or drawn, key=lambda entry: entry[0])]

    def overlap(self) -> dict[str, Any]:
        """For each held-out split: how many of its rows stand in the text, folded and verbatim."""
        return {
            "mode": self._section.overlap,
            "splits": {
                name: {
                    "rows": len(split.folded),
                    "found": sum(key in split.folded_found for key in split.folded),
                    "verbatim": sum(key in split.exact_found for key in split.exact),
                }
                for name, split in self._held_out.items()
            },
        }

    def _cut(self, whole: Piece) -> list[Piece]:
        if not self._section.split_sentences:
            return [whole]
        return [(sentence, None) for sentence in split_sentences(whole[0], language=self._language)]

    def _judge(self, piece: Piece) -> None:
        key = folded_key(*piece)
        if self._is_held_out(piece, key):
            return
        if fault := self._misfit(piece) or self._repeat(key):
            self.counts[fault] += 1
        else:
            self._keep(piece, key)

    def _misfit(self, piece: Piece) -> str | None:
        counts = [word_count(text, language=self._language) for text in piece if text is not None]
        if min(counts) < self._section.min_words:
            return "too_short"
        return "too_long" if max(counts) > self._section.max_words else None

    def _repeat(self, key: bytes) -> str | None:
        if key in self._seen:
            return "duplicates"
        self._seen.add(key)
        return "in_train" if key in self._train_keys else None

    def _is_held_out(self, piece: Piece, key: bytes) -> bool:
        """Whether the piece stands in dev or test and is to be kept out; it is counted in either case."""
        if key not in self._held_out_keys:
            return False
        self.counts["in_dev_or_test"] += 1
        exact = content_key(*piece)
        for split in self._held_out.values():
            split.folded_found.add(key)
            split.exact_found.add(exact)
        return self._section.overlap == "remove"

    def _keep(self, piece: Piece, key: bytes) -> None:
        number, self.fresh = self.fresh, self.fresh + 1
        if self._section.rows is None:
            self._kept.append((number, piece))
            return
        # The draw goes by the text, not by its place: the same texts are drawn however the files are arranged.
        rank = -int.from_bytes(draw_order(self._section.seed, key.hex()), "big")
        if len(self._drawn) < self._section.rows:
            heapq.heappush(self._drawn, (rank, number, piece))
        else:
            heapq.heappushpop(self._drawn, (rank, number, piece))


def _pieces_of(rows: Rows) -> Iterator[Piece]:
    pairs: Sequence[str | None] = rows.pairs if rows.pairs is not None else [None] * len(rows)
    return zip(rows.texts, pairs, strict=True)
