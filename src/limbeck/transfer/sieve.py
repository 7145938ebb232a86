"""What becomes of each unlabelled text: cut into pieces, then each piece kept or dropped, and everything counted."""

import heapq
from collections.abc import Sequence
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
    """A piece that stays: which of all fresh pieces it is, its texts, and the number of its source."""

    number: int
    piece: Piece
    source: int


class _Text(NamedTuple):
    whole: Piece
    pieces: list[Piece]
    source: int


class _Fit(NamedTuple):
    """A piece that only its likeness to others can still speak against."""

    piece: Piece
    key: bytes
    source: int


class Sieve:
    """Texts are poured in one by one; only hashes of what was seen are held, and no more texts than are kept."""

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
        self.fresh = 0  # pieces that passed everything, before some are drawn of them
        self.counts = dict.fromkeys(("texts_read", "pieces", *REASONS), 0)

    def pour(self, text: str, pair: str | None, *, source: int) -> None:
        """Put one text of a source through."""
        self.counts["texts_read"] += 1
        self._waiting.append(_Text((text, pair), self._cut((text, pair)), source))
        self._characters += len(text) + len(pair or "")
        if is_full(texts=len(self._waiting), characters=self._characters):
            self._sift()

    def kept(self) -> list[Kept]:
        """The pieces that stay, in the order in which they came."""
        self._sift()
        return sorted([*self._kept, *(kept for _, kept in self._drawn)])

    def overlap(self) -> dict[str, object]:
        """What was done about rows of dev and test, and how many of each the text holds."""
        return {"mode": self._section.overlap, "splits": self._held_out.overlap()}

    def _cut(self, whole: Piece) -> list[Piece]:
        text, pair = whole
        if self._section.split_sentences:
            cuts = split_sentences(text, language=self._language)
        elif self._section.split_paragraphs:
            cuts = split_paragraphs(text)
        else:
            return [(self._formed(text), None if pair is None else self._formed(pair))]
        return [(self._formed(cut), None) for cut in cuts]

    def _sift(self) -> None:
        """Judge what waits."""
        texts, self._waiting, self._characters = self._waiting, [], 0
        pieces = [(piece, text.source) for text in self._not_held_out(texts) for piece in text.pieces]
        self.counts["pieces"] += len(pieces)
        fit = [_Fit(piece, key, source) for piece, source in pieces if (key := self._fitting_key(piece)) is not None]
        for one in self._without_near(fit):
            self._keep(one)

    def _not_held_out(self, texts: list[_Text]) -> list[_Text]:
        """A held-out text is also looked for uncut: its sentences alone would not be recognised."""
        cut = [text for text in texts if len(text.pieces) != 1]
        unwanted = set()
        for text, is_near in zip(cut, self._nearly_held_out([text.whole for text in cut]), strict=True):
            is_held_out = self._held_out.holds(text.whole, folded_key(*text.whole))
            self.counts["in_dev_or_test"] += is_held_out
            self.counts["near_dev_or_test"] += is_near and not is_held_out
            if is_held_out or is_near:
                unwanted.add(id(text))
        return [text for text in texts if not self._removes or id(text) not in unwanted]

    def _nearly_held_out(self, wholes: list[Piece]) -> list[bool]:
        is_near = np.zeros(len(wholes), dtype=np.bool_)
        places = [place for place, whole in enumerate(wholes) if self._has_near and self._held_out.could_hold(whole)]
        if places:
            pieces = [wholes[place] for place in places]
            is_near[places] = self._held_out.nearly_holds(pieces, self._near.traits(pieces))
        return list(is_near.tolist())

    def _fitting_key(self, piece: Piece) -> bytes | None:
        """The key of a piece that stays so far; why one does not is counted."""
        key = folded_key(*piece)
        is_held_out = self._held_out.holds(piece, key)
        self.counts["in_dev_or_test"] += is_held_out
        if is_held_out and self._removes:
            return None
        if fault := self._misfit(piece) or self._repeat(key):
            self.counts[fault] += 1
            return None
        return key

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

    def _without_near(self, fit: list[_Fit]) -> list[_Fit]:
        """Those that are neither nearly a held-out row nor nearly a piece before them."""
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
        kept = Kept(self.fresh, fit.piece, fit.source)
        self.fresh += 1
        if self._limit is None:
            self._kept.append(kept)
            return
        # The draw goes by the text, not by its place: the same texts are drawn however the files are arranged.
        rank = -int.from_bytes(draw_order(self._section.seed, fit.key.hex()), "big")
        if len(self._drawn) < self._limit:
            heapq.heappush(self._drawn, (rank, kept))
        else:
            heapq.heappushpop(self._drawn, (rank, kept))


def teacher_chooses(section: Transfer) -> bool:
    """Whether rows are chosen, or dropped, by what the teacher says of them once they are labelled."""
    return section.choice != "random" or section.least_confidence > 0


def rows_to_draw(section: Transfer) -> int | None:
    """How many rows are drawn at random: those asked for, or the pool that the teacher chooses from; None: all."""
    if not teacher_chooses(section) or (section.pool is None and section.rows is None):
        return section.rows
    return section.pool if section.pool is not None else POOL_PER_ROW * (section.rows or 0)
