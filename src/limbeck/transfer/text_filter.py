"""Filters unlabelled text: splits each text into pieces, keeps or drops each piece, and counts the reasons."""

import heapq
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.rows import draw_order, folded_key
from limbeck.recipe.transfer import Transfer
from limbeck.text.forms import FormStep, in_form
from limbeck.text.sentences import split_paragraphs, split_sentences, word_count
from limbeck.transfer.held_out import HeldOut, pieces_of
from limbeck.transfer.near_duplicates import NearTexts, is_full
from limbeck.transfer.shingles import Piece

POOL_PER_ROW = 4
REASONS = (
    *("too_short", "too_long", "in_dev_or_test", "near_dev_or_test"),
    *("duplicates", "in_train", "near_duplicates"),
)


class Kept(NamedTuple):
    """A piece that is kept: its number among all pieces that passed, its texts, and the number of its source."""

    number: int
    piece: Piece
    source: int


class _Text(NamedTuple):
    uncut: Piece
    pieces: list[Piece]
    source: int


class _Fit(NamedTuple):
    """A piece that passed all checks but the one for near duplicates."""

    piece: Piece
    key: bytes
    source: int


class TextFilter:
    """Takes texts one by one; holds only hashes of what it has seen, and no more texts than it keeps."""

    def __init__(self, section: Transfer, *, corpus: Corpus, steps: Sequence[FormStep] = ()) -> None:
        self._section, self._language = section, corpus.language
        self._formed = in_form(steps)
        self._removes = section.overlap == "remove"
        self._held_out = HeldOut(corpus, near_duplicates=section.near_duplicates)
        self._train_keys = {folded_key(*piece) for piece in pieces_of(corpus.splits["train"])}
        self._seen: set[bytes] = set()
        self._has_near = section.near_duplicates < 1
        self._near = NearTexts(section.near_duplicates, language=corpus.language)
        self._waiting: list[_Text] = []
        self._characters = 0
        self._limit = rows_to_draw(section)
        self._kept: list[Kept] = []
        self._drawn: list[tuple[int, Kept]] = []  # a heap whose top is the piece drawn last
        self.passed = 0  # pieces that passed all checks, before some of them are drawn
        self.counts = dict.fromkeys(("texts_read", "pieces", *REASONS), 0)

    def add(self, text: str, pair: str | None, *, source: int) -> None:
        """Filter one text of a source, if it is among the share of texts that is used."""
        if self._section.share < 1 and _draw(text, pair, seed=self._section.seed) >= self._section.share:
            return
        self.counts["texts_read"] += 1
        self._waiting.append(_Text((text, pair), self._cut((text, pair)), source))
        self._characters += len(text) + len(pair or "")
        if is_full(texts=len(self._waiting), characters=self._characters):
            self._filter_waiting()

    def kept(self) -> list[Kept]:
        """The pieces that are kept, in the order in which they were added."""
        self._filter_waiting()
        return sorted([*self._kept, *(kept for _, kept in self._drawn)])

    def overlap(self) -> dict[str, object]:
        """How rows of dev and test are treated, and how many of each the text holds."""
        return {"mode": self._section.overlap, "splits": self._held_out.overlap()}

    def _cut(self, uncut: Piece) -> list[Piece]:
        text, pair = uncut
        if self._section.split_sentences:
            cuts = split_sentences(text, language=self._language)
        elif self._section.split_paragraphs:
            cuts = split_paragraphs(text)
        else:
            return [(self._formed(text), None if pair is None else self._formed(pair))]
        return [(self._formed(cut), None) for cut in cuts]

    def _filter_waiting(self) -> None:
        texts, self._waiting, self._characters = self._waiting, [], 0
        pieces = [(piece, text.source) for text in self._not_held_out(texts) for piece in text.pieces]
        self.counts["pieces"] += len(pieces)
        fit = [_Fit(piece, key, source) for piece, source in pieces if (key := self._fitting_key(piece)) is not None]
        for one in self._without_near(fit):
            self._keep(one)

    def _not_held_out(self, texts: list[_Text]) -> list[_Text]:
        """Held-out texts are also searched for in uncut texts: their sentences alone would not be recognised."""
        cut = [text for text in texts if len(text.pieces) != 1]
        unwanted = set()
        for text, is_near in zip(cut, self._nearly_held_out([text.uncut for text in cut]), strict=True):
            is_held_out = self._held_out.holds(text.uncut, folded_key(*text.uncut))
            self.counts["in_dev_or_test"] += is_held_out
            self.counts["near_dev_or_test"] += is_near and not is_held_out
            if is_held_out or is_near:
                unwanted.add(id(text))
        return [text for text in texts if not self._removes or id(text) not in unwanted]

    def _nearly_held_out(self, texts: list[Piece]) -> list[bool]:
        is_near = np.zeros(len(texts), dtype=np.bool_)
        positions = [at for at, text in enumerate(texts) if self._has_near and self._held_out.could_hold(text)]
        if positions:
            pieces = [texts[at] for at in positions]
            is_near[positions] = self._held_out.nearly_holds(pieces, self._near.traits(pieces))
        return list(is_near.tolist())

    def _fitting_key(self, piece: Piece) -> bytes | None:
        """The key of a piece that passes; None if it is dropped, which is counted with the reason."""
        key = folded_key(*piece)
        is_held_out = self._held_out.holds(piece, key)
        self.counts["in_dev_or_test"] += is_held_out
        if is_held_out and self._removes:
            return None
        if reason := self._wrong_length(piece) or self._repeat(key):
            self.counts[reason] += 1
            return None
        return key

    def _wrong_length(self, piece: Piece) -> str | None:
        counts = [word_count(text, language=self._language) for text in piece if text is not None]
        if min(counts) < self._section.min_words:
            return "too_short"
        return "too_long" if max(counts) > self._section.max_words else None

    def _repeat(self, key: bytes) -> str | None:
        if key in self._seen:
            return "duplicates"
        self._seen.add(key)
        return "in_train" if key in self._train_keys else None

    def _without_near(self, fit: list[_Fit]) -> list[_Fit]:
        """Those that are not near duplicates of a held-out row or of an earlier piece."""
        if not self._has_near or not fit:
            return fit
        pieces = [one.piece for one in fit]
        traits = self._near.traits(pieces)
        is_near = self._held_out.nearly_holds(pieces, traits)
        is_near &= [one.key not in self._held_out.keys for one in fit]
        self.counts["near_dev_or_test"] += int(is_near.sum())
        is_wanted = ~is_near | (not self._removes)
        is_new = self._near.add_new(traits.select(is_wanted))
        self.counts["near_duplicates"] += int((~is_new).sum())
        is_wanted[is_wanted] = is_new
        return [one for one, wanted in zip(fit, is_wanted, strict=True) if wanted]

    def _keep(self, fit: _Fit) -> None:
        kept = Kept(self.passed, fit.piece, fit.source)
        self.passed += 1
        if self._limit is None:
            self._kept.append(kept)
            return
        # The draw depends on the text, not on its position: the same texts are drawn however the files are arranged.
        rank = -int.from_bytes(draw_order(self._section.seed, fit.key.hex()), "big")
        if len(self._drawn) < self._limit:
            heapq.heappush(self._drawn, (rank, kept))
        else:
            heapq.heappushpop(self._drawn, (rank, kept))


def teacher_chooses(section: Transfer) -> bool:
    """Whether rows are chosen, or dropped, by the teacher's labels for them."""
    return section.choice != "random" or section.least_confidence > 0


def _draw(text: str, pair: str | None, *, seed: int) -> float:
    """A number from 0 to 1 that depends on the texts and the seed alone."""
    digest = blake2b(f"{seed}:{text}\0{pair or ''}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def rows_to_draw(section: Transfer) -> int | None:
    """How many rows are drawn at random: `rows`, or the pool that the teacher chooses from; None: all."""
    if not teacher_chooses(section) or (section.pool is None and section.rows is None):
        return section.rows
    return section.pool if section.pool is not None else POOL_PER_ROW * (section.rows or 0)
