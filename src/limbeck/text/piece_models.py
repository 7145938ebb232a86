"""The three kinds of model inside a Hugging Face tokenizer.json, and how pieces are dropped from each."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

from limbeck.text.student_tokenizer import SPECIAL_TOKENS, UNK, UNK_ID

Json = dict[str, Any]


class PieceModel(Protocol):
    """What is needed to drop pieces from a model."""

    @property
    def known(self) -> Collection[str]:
        """All its pieces."""

    @property
    def unknown(self) -> str | None:
        """Its own token for unknown text."""

    def letters(self, piece: str) -> Sequence[str]:
        """The pieces that the piece's characters would be, each on its own."""

    def needs(self, piece: str) -> set[str]:
        """The other pieces that must stay so that the model can produce this one."""

    def smaller(self, pieces: Sequence[str]) -> Json:
        """The model's JSON with these pieces in this order; the student's unknown token is among them."""


class WordPieceModel:
    """Longest match first (BERT, MPNet): any subset of the pieces works."""

    def __init__(self, model: Json) -> None:
        self._model = model
        self._prefix: str = model["continuing_subword_prefix"]
        self.known: Collection[str] = model["vocab"].keys()
        self.unknown: str | None = model["unk_token"]

    def letters(self, piece: str) -> Sequence[str]:
        """The first character as the start of a word, the others as continuations."""
        if piece.startswith(self._prefix):
            return [self._prefix + letter for letter in piece.removeprefix(self._prefix)]
        return [piece[0], *(self._prefix + letter for letter in piece[1:])]

    def needs(self, piece: str) -> set[str]:
        """Nothing."""
        del piece
        return set()

    def smaller(self, pieces: Sequence[str]) -> Json:
        """The same with another vocabulary."""
        return {**self._model, "unk_token": UNK, "vocab": _numbered(pieces)}


class UnigramModel:
    """Most probable cut (XLNet, ALBERT, XLM-R): any subset of the pieces works, each keeps its score."""

    def __init__(self, model: Json) -> None:
        self._model = model
        self._scores: dict[str, float] = dict(model["vocab"])
        self.known: Collection[str] = self._scores.keys()
        self.unknown: str | None = None if model["unk_id"] is None else model["vocab"][model["unk_id"]][0]

    def letters(self, piece: str) -> Sequence[str]:
        """Its characters."""
        return piece

    def needs(self, piece: str) -> set[str]:
        """Nothing."""
        del piece
        return set()

    def smaller(self, pieces: Sequence[str]) -> Json:
        """The same with fewer pieces.

        The cost of an unknown character depends on the lowest score of all, so new tokens get exactly that one.
        """
        lowest = min(self._scores.values(), default=0.0)
        scores = {**self._scores, **dict.fromkeys(SPECIAL_TOKENS, lowest)}
        vocabulary = [[piece, scores.get(piece, lowest)] for piece in pieces]
        byte_fallback = self._model.get("byte_fallback", False)
        return {"type": "Unigram", "unk_id": UNK_ID, "vocab": vocabulary, "byte_fallback": byte_fallback}


class BpeModel:
    """Merges in a fixed order (RoBERTa): a piece needs all pieces that it is merged from."""

    def __init__(self, model: Json) -> None:
        self._model = model
        self._prefix: str = model["continuing_subword_prefix"] or ""
        self._suffix: str = model["end_of_word_suffix"] or ""
        self._ranks: dict[tuple[str, str], int] = {(a, b): rank for rank, (a, b) in enumerate(model["merges"])}
        self.known: Collection[str] = model["vocab"].keys()
        self.unknown: str | None = model["unk_token"]

    def letters(self, piece: str) -> Sequence[str]:
        """The symbols that this part of a word is before any merge."""
        is_inside = bool(self._prefix) and piece.startswith(self._prefix)
        is_end = bool(self._suffix) and piece.endswith(self._suffix)
        bare = piece[len(self._prefix) if is_inside else 0 : -len(self._suffix) if is_end else None]
        symbols = [
            letter if index == 0 and not is_inside else self._prefix + letter for index, letter in enumerate(bare)
        ]
        return [*symbols[:-1], symbols[-1] + self._suffix] if symbols and is_end else symbols

    def needs(self, piece: str) -> set[str]:
        """All pieces that this one is merged from; empty if no merges lead to it (it is then matched directly).

        The merges inside a piece are the same wherever it occurs in a word: with a merge across its border, the word
        would not have been cut there.
        """
        symbols = list(self.letters(piece))
        steps = set(symbols)
        while len(symbols) > 1:
            ranks = [self._ranks.get(pair, math.inf) for pair in pairwise(symbols)]
            first = ranks.index(min(ranks))
            if ranks[first] == math.inf:
                return set()
            symbols[first : first + 2] = [self._merged(symbols[first], symbols[first + 1])]
            steps.add(symbols[first])
        return steps

    def smaller(self, pieces: Sequence[str]) -> Json:
        """The same with fewer pieces, and only the merges among them."""
        kept = set(pieces)
        merges = [[a, b] for a, b in self._ranks if a in kept and b in kept and self._merged(a, b) in kept]
        return {
            **self._model,
            "dropout": None,
            "unk_token": UNK,
            # A model without an unknown token knows every byte; in the smaller one, the bytes of a new character
            # become one unknown token.
            "fuse_unk": self._model["fuse_unk"] or self.unknown is None,
            "vocab": _numbered(pieces),
            "merges": merges,
        }

    def _merged(self, left: str, right: str) -> str:
        return left + right.removeprefix(self._prefix)


PIECE_MODELS: dict[str, Callable[[Json], PieceModel]] = {
    "WordPiece": WordPieceModel,
    "BPE": BpeModel,
    "Unigram": UnigramModel,
}


def _numbered(pieces: Iterable[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate(pieces)}
