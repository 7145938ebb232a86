"""What a graph is fed with: the tokens of rows, padded, under the names of its inputs."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts, ModelFolder
from limbeck.runtime.row import Row, columns_of
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import StudentTokenizer, padded

Columns: TypeAlias = list[list[list[int]]]  # each holds a list of numbers for every row
Feed: TypeAlias = dict[str, npt.NDArray[Any]]

TYPES = "type_ids"


@dataclass(frozen=True)
class WordInputs:
    """Of students that read words: a column for each text of a row."""

    tokenizer: StudentTokenizer
    max_length: int

    def encode(self, rows: list[Row]) -> Columns:
        """Token ids of the texts and, for pairs, of the second texts."""
        return [self.tokenizer.encode(column, max_length=self.max_length) for column in columns_of(rows)]

    def lengths(self, columns: Columns) -> list[tuple[int, ...]]:
        """Of each row, the tokens of each of its texts."""
        return list(zip(*([len(row) for row in column] for column in columns), strict=True))

    def feed(self, columns: Columns) -> Feed:
        """The padded columns and the lengths of their rows."""
        names = ("input_ids", "lengths", "pair_ids", "pair_lengths")
        return dict(zip(names, (array for column in columns for array in padded(column)), strict=False))


@dataclass(frozen=True)
class FramedInputs:
    """Of students that read special tokens around texts: one column of ids, also for pairs, and maybe their types."""

    tokenizer: FramedTokenizer
    max_length: int
    reads_types: bool

    def encode(self, rows: list[Row]) -> Columns:
        """Token ids of the rows; for pairs, where the graph reads them, also the types of the tokens."""
        texts, *pairs = columns_of(rows)
        if not pairs:
            return [self.tokenizer.encode(texts, max_length=self.max_length)]
        ids, types = self.tokenizer.encode_pairs(texts, *pairs, max_length=self.max_length)
        return [ids, types] if self.reads_types else [ids]

    def lengths(self, columns: Columns) -> list[tuple[int, ...]]:
        """Of each row, its tokens."""
        return [(len(row),) for row in columns[0]]

    def feed(self, columns: Columns) -> Feed:
        """The padded columns and the lengths of the rows."""
        ids, lengths = padded(columns[0], pad_id=self.tokenizer.pad_id)
        feed: Feed = {"input_ids": ids, "lengths": lengths}
        return {**feed, TYPES: padded(columns[1])[0]} if self.reads_types else feed


def inputs_of(model: ModelFolder, facts: ModelFacts, *, names: Collection[str]) -> WordInputs | FramedInputs:
    """How rows become what this model's graph takes; `names` are those of the graph's inputs."""
    if facts.tokenizer == "framed":
        return FramedInputs(FramedTokenizer.load(model.tokenizer), facts.max_length, reads_types=TYPES in names)
    return WordInputs(StudentTokenizer.load(model.tokenizer), facts.max_length)
