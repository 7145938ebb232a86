"""How teacher and student tokenize texts: the number of tokens, and how many are unknown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from limbeck.artifacts.rows import Rows
from limbeck.errors import CheckpointDamaged
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_reader import StudentReader
from limbeck.text.student_tokenizer import UNK, StudentTokenizer
from limbeck.text.tokenizer_limits import TokenizerRefused, characters_at_once, panics_as_errors, portions

Lengths = npt.NDArray[np.int64]

SAMPLE_ROWS = 2_000  # spread over a split
COUNTED = 8  # times max_length: tokens of a text beyond that are not counted
UNKNOWN = (UNK, "<unk>")


class TextReader(Protocol):
    """How a model tokenizes texts."""

    @property
    def name(self) -> str: ...
    @property
    def max_length(self) -> int: ...

    def lengths(self, rows: Rows) -> Lengths:
        """(rows): the number of tokens without truncation; for very long texts, a lower bound."""


@dataclass(frozen=True)
class TeacherReading:
    """An encoder's tokenizer, special tokens included."""

    name: str
    max_length: int
    long_texts: str  # "head" or "head_and_tail"
    tokenizer: Tokenizer

    @classmethod
    def load(cls, path: Path, *, name: str, max_length: int, long_texts: str) -> "TeacherReading":
        """From the tokenizer.json of a Hugging Face folder. Raises CheckpointDamaged if it cannot be read."""
        try:
            with panics_as_errors():
                tokenizer = Tokenizer.from_file(str(path))
            characters_at_once(tokenizer)
        except TokenizerRefused as error:
            raise CheckpointDamaged(path=path.parent, reason=f"{path.name} cannot be read: {error.reason}") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(name, max_length, long_texts, tokenizer)

    def lengths(self, rows: Rows) -> Lengths:
        """(rows): both texts of a pair together."""
        texts = rows.texts if rows.pairs is None else list(zip(rows.texts, rows.pairs, strict=True))
        sizes = (len(text) if isinstance(text, str) else sum(map(len, text)) for text in texts)
        lengths: list[int] = []
        for part in portions(texts, sizes, most=characters_at_once(self.tokenizer)):
            with panics_as_errors():
                lengths += [len(encoding.ids) for encoding in self.tokenizer.encode_batch(part)]
        return np.array(lengths, dtype=np.int64)


@dataclass(frozen=True)
class StudentReading:
    """A student's tokenizer."""

    tokenizer: StudentTokenizer | FramedTokenizer
    max_length: int
    name: str = "student"

    def lengths(self, rows: Rows) -> Lengths:
        """(rows): where two texts are read separately, the tokens of the longer one."""
        most = self.max_length * COUNTED
        if isinstance(self.tokenizer, FramedTokenizer):
            return StudentReader(self.tokenizer, most).read(rows.texts, rows.pairs).lengths
        columns = [rows.texts] if rows.pairs is None else [rows.texts, rows.pairs]
        lengths: Lengths = np.max([self.tokenizer.lengths(column, max_length=most) for column in columns], axis=0)
        return lengths.astype(np.int64)

    def unknown_share(self, rows: Rows) -> float:
        """The share of running tokens that are unknown; special tokens are included in both counts."""
        unknown = next((self.tokenizer.vocabulary.index(name) for name in UNKNOWN if name in self.tokens), None)
        read = StudentReader(self.tokenizer, self.max_length).read(rows.texts, rows.pairs)
        columns = [column for name, column in read.columns.items() if name in read.masks]
        ids = np.array([number for column in columns for row in column for number in row])
        return float((ids == unknown).mean()) if unknown is not None and len(ids) else 0.0

    @property
    def tokens(self) -> list[str]:
        """All tokens that it knows."""
        return self.tokenizer.vocabulary


def sample(rows: Rows, *, most: int = SAMPLE_ROWS) -> Rows:
    """At most `most` of the rows, evenly spaced."""
    return rows.select(np.linspace(0, len(rows) - 1, num=min(most, len(rows)), dtype=np.int64)) if len(rows) else rows


def texts_of(parts: Iterable[Rows]) -> Iterator[str]:
    """Every text, second texts included."""
    for rows in parts:
        for part in rows.slices(SAMPLE_ROWS):
            yield from part.texts
            yield from part.pairs or []
