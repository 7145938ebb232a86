"""Texts to token ids without special tokens: the first step of all our tokenizers."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, cast

from tokenizers import Tokenizer

from limbeck.text.piece_memo import Ids, PieceMemo
from limbeck.text.readable import readable
from limbeck.text.separable import is_separable
from limbeck.text.tokenizer_limits import (
    MOST_BYTES,
    TokenizerRefused,
    characters_at_once,
    panics_as_errors,
    portions,
)

TEXTS_AT_ONCE = 8_192  # limits the memory for the encodings of a large corpus
PIECES_AT_ONCE = 256
# A text is read up to 10,000 characters, or 100 for each token asked for if that is more.
LEAST_CHARACTERS, CHARACTERS_PER_TOKEN = 10_000, 100


class PlainIds:
    """The ids that a tokenizer gives to texts. Words that it has read before are looked up, if that is exact.

    `before` is applied to every text, `after` to the ids of every text; each must give the same result when applied to
    the words of a text one by one. Texts are truncated here and not by the tokenizers library: its settings are state
    of the tokenizer, and changing them while another thread encodes is an error.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, after: Callable[[Ids], Ids], before: Callable[[str], str] | None = None
    ) -> None:
        self._tokenizer, self._before, self._after = tokenizer, before, after
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._at_once = characters_at_once(tokenizer)
        can_look_up = is_separable(tokenizer)
        self._memo = PieceMemo(of_texts=self._of_texts, of_pieces=self._of_pieces) if can_look_up else None

    def read(self, texts: Sequence[str], *, max_length: int, truncate: bool = True) -> list[Ids]:
        """The ids of each text, at most `max_length`; without `truncate`, all ids of the characters that are read."""
        if len(texts) > TEXTS_AT_ONCE:
            blocks = (texts[start : start + TEXTS_AT_ONCE] for start in range(0, len(texts), TEXTS_AT_ONCE))
            return [row for block in blocks for row in self.read(block, max_length=max_length, truncate=truncate)]
        most_characters = min(self._at_once, max(LEAST_CHARACTERS, max_length * CHARACTERS_PER_TOKEN))
        most_tokens = max_length if truncate else sys.maxsize
        if self._memo is not None:
            return self._memo.read(texts, most_tokens=most_tokens, most_characters=most_characters)
        given = [readable(text, most_characters=most_characters) for text in texts]
        return [row[:most_tokens] for row in self._of_texts(given)]

    def _of_texts(self, texts: list[str]) -> list[Ids]:
        given = texts if self._before is None else [*map(self._before, texts)]
        rows: list[Ids] = []
        for part in portions(given, map(len, given), most=self._at_once):
            with panics_as_errors():
                encodings = self._tokenizer.encode_batch_fast(part, add_special_tokens=False)
            rows += [self._after(encoding.ids) for encoding in encodings]
        return rows

    def _of_pieces(self, pieces: list[str]) -> list[Ids]:
        """Like `_of_texts`, but several words share an encoding, which takes less time."""
        if len(pieces) == 1:
            return self._of_texts(pieces)
        given = pieces if self._before is None else [*map(self._before, pieces)]
        groups = [given[start : start + PIECES_AT_ONCE] for start in range(0, len(given), PIECES_AT_ONCE)]
        rows: list[Ids] = []
        sizes = [sum(map(len, group)) for group in groups]
        for part in portions(groups, sizes, most=self._at_once):
            with panics_as_errors():
                encodings = self._tokenizer.encode_batch(part, is_pretokenized=True, add_special_tokens=False)
            for group, encoding in zip(part, encodings, strict=True):
                found: list[Ids] = [[] for _ in group]
                for number, word in zip(encoding.ids, cast(list[int], encoding.word_ids), strict=True):
                    found[word].append(number)
                rows += map(self._after, found)
        return rows


class TokenizerFile:
    """A tokenizer.json, which is written exactly as it was read.

    The JSON is kept because the library may change the last digit of a number when it reads it: a tokenizer that is
    written by the library and read again may choose another of two equally good segmentations.
    """

    def __init__(self, json_text: str) -> None:
        self._json = json_text

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the contents of a tokenizer.json."""
        return cls(text)

    @classmethod
    def load(cls, path: Path) -> Self:
        """From a tokenizer.json."""
        if path.stat().st_size > MOST_BYTES:
            raise TokenizerRefused(reason=f"{path.name} has {path.stat().st_size:,} bytes")
        return cls.from_json(path.read_text(encoding="utf-8"))

    def to_json(self) -> str:
        """The contents of its tokenizer.json."""
        return self._json

    def save(self, path: Path) -> None:
        """Write its tokenizer.json."""
        path.write_text(self.to_json(), encoding="utf-8")
