"""From rows to tokens, and from tokens to the inputs of a graph."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.row import Row, columns_of
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import PAD_ID, StudentTokenizer, padded

Columns: TypeAlias = list[list[list[int]]]  # each has a list of numbers for every row
NativeColumns: TypeAlias = Columns | list[list[bytes]]  # the native engine also takes the bytes of 32-bit numbers
Feed: TypeAlias = dict[str, npt.NDArray[Any]]


class Inputs(Protocol):
    """How a model reads rows."""

    def encode(self, rows: list[Row]) -> Columns:
        """The rows as tokens."""

    def lengths(self, columns: Columns) -> list[tuple[int, ...]]:
        """The lengths of each row, in tokens, that padding depends on."""

    def feed(self, columns: Columns) -> Feed:
        """Padded arrays, by the names of graph inputs; possibly more than the graph needs."""


@dataclass(frozen=True)
class WordInputs:
    """For word-level students: a column for each text of a row."""

    tokenizer: StudentTokenizer
    max_length: int

    def encode(self, rows: list[Row]) -> Columns:
        """Token ids of the texts and, for pairs, of the second texts."""
        return [self.tokenizer.encode(column, max_length=self.max_length) for column in columns_of(rows)]

    def lengths(self, columns: Columns) -> list[tuple[int, ...]]:
        """The number of tokens of each text of a row."""
        return list(zip(*([len(row) for row in column] for column in columns), strict=True))

    def feed(self, columns: Columns) -> Feed:
        """The padded columns and the lengths of their rows."""
        names = ("input_ids", "lengths", "pair_ids", "pair_lengths")
        return dict(zip(names, (array for column in columns for array in _arrays(column, pad_id=PAD_ID)), strict=False))


@dataclass(frozen=True)
class FramedInputs:
    """For students with special tokens: one column of ids, also for pairs, and for pairs a column of token types."""

    tokenizer: FramedTokenizer
    max_length: int

    def encode(self, rows: list[Row]) -> Columns:
        """Token ids of the rows; for pairs also the types of the tokens."""
        texts, *pairs = columns_of(rows)
        if not pairs:
            return [self.tokenizer.encode(texts, max_length=self.max_length)]
        return [*self.tokenizer.encode_pairs(texts, *pairs, max_length=self.max_length)]

    def lengths(self, columns: Columns) -> list[tuple[int, ...]]:
        """The number of tokens of each row."""
        return [(len(row),) for row in columns[0]]

    def feed(self, columns: Columns) -> Feed:
        """The padded columns and the lengths of the rows."""
        ids, lengths = _arrays(columns[0], pad_id=self.tokenizer.pad_id)
        feed: Feed = {"input_ids": ids, "lengths": lengths}
        return {**feed, "type_ids": _arrays(columns[1], pad_id=0)[0]} if columns[1:] else feed


def _arrays(column: list[list[int]], *, pad_id: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(rows, tokens) ids, and (rows) lengths; a single row needs no padding, which saves microseconds."""
    if len(column) == 1:
        return np.array(column, dtype=np.int64), np.array([len(column[0])], dtype=np.int32)
    return padded(column, pad_id=pad_id)


def inputs_of(model: ModelFolder, facts: ModelFacts) -> WordInputs | FramedInputs:
    """How this model reads rows."""
    if facts.tokenizer == "framed":
        return FramedInputs(FramedTokenizer.load(model.tokenizer), facts.max_length)
    return WordInputs(StudentTokenizer.load(model.tokenizer), facts.max_length)
