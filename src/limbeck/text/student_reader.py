"""Texts as inputs of a trained student: its tokens, as padded arrays under the names of its network's inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.student_tokenizer import PAD_ID, StudentTokenizer

Ids = list[int]
Array = npt.NDArray[np.int64]

TYPES = "token_type_ids"


@dataclass(frozen=True)
class ReadRows:
    """Tokens of rows, by the name of the input they are for; masks are made when rows are padded."""

    columns: Mapping[str, Sequence[Ids]]  # each with one list of numbers per row
    masks: Mapping[str, str]  # input → the name of its mask
    pad_id: int

    @property
    def lengths(self) -> Array:
        """(rows): the number of tokens of each; if its two texts are read separately, that of the longer one."""
        lengths: Array = np.max([[len(row) for row in column] for column in self.columns.values()], axis=0)
        return lengths.astype(np.int64)

    def batch(self, places: Sequence[int] | Array, *, with_types: bool) -> dict[str, Array]:
        """(rows, tokens) for each input and each mask, padded at the end to the longest of these rows.

        Token types are omitted for a network that has no embeddings of them.
        """
        arrays: dict[str, Array] = {}
        for name, column in self.columns.items():
            if name == TYPES and not with_types:
                continue
            rows = [column[at] for at in places]
            lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
            inside = np.arange(lengths.max(initial=0))[None, :] < lengths[:, None]
            arrays[name] = np.full(inside.shape, self.pad_id if name in self.masks else 0, dtype=np.int64)
            arrays[name][inside] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
            if name in self.masks:
                arrays[self.masks[name]] = inside.astype(np.int64)
        return arrays


@dataclass(frozen=True)
class StudentReader:
    """A student's tokenizer, and the most tokens of a text that it reads."""

    tokenizer: StudentTokenizer | FramedTokenizer
    max_length: int

    @classmethod
    def load(cls, path: Path, *, is_framed: bool, max_length: int) -> Self:
        """From a student's tokenizer.json."""
        return cls(FramedTokenizer.load(path) if is_framed else StudentTokenizer.load(path), max_length)

    def read(self, texts: Sequence[str], pairs: Sequence[str] | None) -> ReadRows:
        """The rows as tokens. A framed tokenizer joins two texts into one sequence; others read them separately."""
        if isinstance(self.tokenizer, FramedTokenizer):
            return self._framed(self.tokenizer, texts, pairs)
        columns = {"input_ids": self.tokenizer.encode(texts, max_length=self.max_length)}
        if pairs is not None:
            columns["pair_ids"] = self.tokenizer.encode(pairs, max_length=self.max_length)
        return ReadRows(columns, masks={"input_ids": "attention_mask", "pair_ids": "pair_mask"}, pad_id=PAD_ID)

    def _framed(self, tokenizer: FramedTokenizer, texts: Sequence[str], pairs: Sequence[str] | None) -> ReadRows:
        if pairs is None:
            columns = {"input_ids": tokenizer.encode(texts, max_length=self.max_length)}
        else:
            ids, types = tokenizer.encode_pairs(texts, pairs, max_length=self.max_length)
            columns = {"input_ids": ids, **({TYPES: types} if tokenizer.has_types else {})}
        return ReadRows(columns, masks={"input_ids": "attention_mask"}, pad_id=tokenizer.pad_id)


def has_token_types(config: Any) -> bool:
    """Whether a network of this config distinguishes second texts by token type: DistilBERT does not."""
    return (getattr(config, "type_vocab_size", None) or 0) > 1
