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

    The extension learns of characters and pieces when a text first has them. Threads may share it.
    """

    def __init__(self, reader: NgramIds, *, max_length: int) -> None:
        """Raises ValueError for settings that the extension does not take, OverflowError for endless ones."""
        settings = reader.settings
        self._reader, self._has_form = reader, bool(settings.form)
        self._most_characters = most_characters_of(max_length)
        # Texts are cut before they are brought to another form: then all is read.
        self._max_length, self._most_read = max_length, sys.maxsize if settings.form else self._most_characters
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
        found = self._native.read(texts, self._max_length, self._most_read)
        for row in found:
            if type(row) is not bytes:
                pairs = zip(texts, found, strict=True)
                return [row if isinstance(row, bytes) else self._asked_again(text) for text, row in pairs]
        return cast("list[bytes]", found)

    def _asked_again(self, text: str) -> bytes:
        """The ids of a text that wanted to know more first."""
        for _ in range(ROUNDS):
            # The first time again: another text may have wanted the same.
            (found,) = self._native.read([text], self._max_length, self._most_read)
            if isinstance(found, bytes):
                return found
            if found is None:
                break
            for wanted in found:
                if isinstance(wanted, int):
                    self._native.add_page(wanted, page_of_characters(wanted))
                else:
                    self._native.add_piece(wanted, self._reader.units(wanted))
        return array("i", self._reader.of_text(text[: self._most_read], self._max_length) or [UNK_ID]).tobytes()
