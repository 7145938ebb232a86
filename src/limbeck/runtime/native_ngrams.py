"""Rows to n-grams in the C++ extension, for the native engine; Python's own reader answers what the extension asks."""

from array import array

from limbeck.runtime import _native
from limbeck.runtime.row import Row, columns_of
from limbeck.text.ngram_characters import page_of_characters
from limbeck.text.ngrams import NgramIds
from limbeck.text.student_tokenizer import UNK_ID

ROUNDS = 4  # first it wants pages of characters, then pieces, and then reads; more than that is rare


class NativeNgrams:
    """Gives the ids that Python's reader gives, each text's as the bytes of numbers of 32 bits.

    The extension is told of characters and pieces when a text first has them. Threads may share it.
    """

    def __init__(self, reader: NgramIds, *, max_length: int) -> None:
        """Raises ValueError for settings that the extension does not take, OverflowError for endless ones."""
        settings = reader.settings
        self._reader, self._max_length = reader, max_length
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
        texts = self._reader.prepared(texts, max_length=self._max_length)
        found = self._native.read(texts, self._max_length)
        pairs = zip(texts, found, strict=True)
        return [row if isinstance(row, bytes) else self._told(text) for text, row in pairs]

    def _told(self, text: str) -> bytes:
        """The ids of a text that wanted to know more first."""
        for _ in range(ROUNDS):
            (found,) = self._native.read([text], self._max_length)  # again: another text may have wanted the same
            if isinstance(found, bytes):
                return found
            if found is None:
                break
            for wanted in found:
                if isinstance(wanted, int):
                    self._native.add_page(wanted, page_of_characters(wanted))
                else:
                    self._native.add_piece(wanted, self._reader.units(wanted))
        return array("i", self._reader.of_text(text, self._max_length) or [UNK_ID]).tobytes()
