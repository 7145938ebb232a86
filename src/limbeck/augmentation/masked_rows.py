"""Texts with one word masked, as rows of numbers for a language model."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from limbeck.augmentation.piece_words import Blank

Places = npt.NDArray[np.int64]


class MaskedRows(NamedTuple):
    """Rows of one length, and where their masks are."""

    inputs: dict[str, Places]  # (rows, tokens): input_ids and what else the model reads
    rows: Places  # (masks)
    columns: Places  # (masks)


class Frame(NamedTuple):
    """What stands around a text, and how much of it there is room for."""

    before: list[int]
    after: list[int]
    mask: int
    padding: int
    has_types: bool
    room: int

    @classmethod
    def of(cls, tokenizer: Any, *, max_length: int) -> "Frame":
        """The special tokens that this tokenizer puts around a text."""
        row = tokenizer("a", return_special_tokens_mask=True)
        of_text = [place for place, is_special in enumerate(row["special_tokens_mask"]) if not is_special]
        before, after = row["input_ids"][: of_text[0]], row["input_ids"][of_text[-1] + 1 :]
        has_types = "token_type_ids" in row
        room = max_length - len(before) - len(after)
        return cls(before, after, tokenizer.mask_token_id, tokenizer.pad_token_id or 0, has_types, room)

    def length(self, pieces: int) -> int:
        """Of the row that a text of so many pieces makes."""
        return len(self.before) + min(pieces, self.room) + len(self.after)

    def masked(self, texts: Sequence[Sequence[int]], blanks: Sequence[tuple[int, Blank]]) -> MaskedRows:
        """A row for each blank of a text, which is given by its number among the texts.

        Of a text that is too long, a window with the blank in its middle.
        """
        longest = max(self.length(len(texts[number])) for number, _ in blanks)
        ids = np.full((len(blanks), longest), self.padding, dtype=np.int64)
        is_there = np.zeros_like(ids)
        rows, columns = [], []
        for row, (number, blank) in enumerate(blanks):
            start = self._window(len(texts[number]), blank)
            line = [*self.before, *texts[number][start : start + self.room], *self.after]
            ids[row, : len(line)], is_there[row, : len(line)] = line, 1
            rows += [row] * (blank.end - blank.first)
            columns += [len(self.before) + place - start for place in range(blank.first, blank.end)]
        ids[rows, columns] = self.mask
        inputs = {"input_ids": ids, "attention_mask": is_there}
        if self.has_types:
            inputs["token_type_ids"] = np.zeros_like(ids)
        return MaskedRows(inputs, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))

    def _window(self, length: int, blank: Blank) -> int:
        middle = (blank.first + blank.end) // 2
        return max(0, min(middle - self.room // 2, length - self.room))
