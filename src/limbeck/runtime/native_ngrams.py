"""Rows to n-grams in the C++ extension, for the native engine; Python's own reader answers what the extension asks."""

import sys
from array import array
from typing import cast

from limbeck.runtime import _native
from limbeck.runtime.row import Row, columns_of
from limbeck.text.ngram_characters import page_of_characters
from limbeck.text.ngrams import NgramIds, most_characters_of
from limbeck.text.student_tokenizer import UNK_ID

ROUNDS = 4  # first it wants pages of characters, then pieces, and then reads; more than that is rare


class NativeNgrams:
    """Gives the ids that Python's reader gives, each text's as the bytes of numbers of 32 bits.

    The extension is told of characters and pieces when a text first has them. Threads may share it.
    """

    def __init__(self, reader: NgramIds, *, max_length: int) -> None:
        """Raises ValueError for settings that the extension does not take, OverflowError for endless ones."""
        settings = reader.settings
        self._reader, self._has_form = reader, bool(settings.form)
        self._most_characters = most_characters_of(max_length)
        # Of a text in another form than it had, all is read.
        self._limits = max_length, sys.maxsize if self._has_form else self._most_characters
        self._native = _native.Ngrams(
            buckets=settings.buckets,
            words=settings.words,
            shortest=settings.shortest,
            longest=settings.longest,
            nothing=UNK_ID,
        )

    def encode(self, rows: list[Row]) -> list[list[bytes]]:
        """The ids of the texts and, for pairs, of the second texts."""
        return [self._column(column) for column in columns_of(rows)]

    def _column(self, texts: list[str]) -> list[bytes]:
        if self._has_form:
            texts = [self._reader.formed(text[: self._most_characters]) for text in texts]
        rows = self._native.read(texts, *self._limits)
        for place, row in enumerate(rows):
            if type(row) is not bytes:
                rows[place] = self._told(texts[place])
        return cast(list[bytes], rows)

    def _told(self, text: str) -> bytes:
        """The ids of a text that wanted to know more first."""
        for _ in range(ROUNDS):
            (found,) = self._native.read([text], *self._limits)  # again: another text may have wanted the same
            if isinstance(found, bytes):
                return found
            if found is None:
                break
            for wanted in found:
                if isinstance(wanted, int):
                    self._native.add_page(wanted, page_of_characters(wanted))
                else:
                    self._native.add_piece(wanted, self._reader.units(wanted))
        max_length, most_characters = self._limits
        return array("i", self._reader.of_text(text[:most_characters], max_length) or [UNK_ID]).tobytes()
