"""The student's tokenizer: one tokenizer.json that training, export and serving all read."""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from limbeck.text.readable import readable
from limbeck.text.segmenter import opened

PAD_ID, UNK_ID, MASK_ID = 0, 1, 2
PAD, UNK, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[MASK]")

TEXTS_AT_ONCE = 8_192  # bounds the memory that the encodings of a large corpus take
# Of a text, no more characters are read than so many, and so many for each token asked for.
LEAST_CHARACTERS, CHARACTERS_PER_TOKEN = 10_000, 100


class StudentTokenizer:
    """Texts to ids. Padding is 0, unknown is 1, mask is 2; "[MASK]" in a text is the mask, the others are plain text.

    Truncation and padding are done here and not by the tokenizers library: its settings are state of the
    tokenizer, and changing them while another thread encodes is an error.
    """

    def __init__(self, json_text: str) -> None:
        # The text is kept because the library reads a written number only to the last digit or so: a tokenizer that
        # is written and read again may cut a text of two equally good cuts in the other way.
        self._json = json_text
        self._tokenizer = opened(json_text)
        found = tuple(self._tokenizer.id_to_token(number) for number in range(len(SPECIAL_TOKENS)))
        if found != SPECIAL_TOKENS:
            raise ValueError(f"a student's first tokens are {SPECIAL_TOKENS}, not {found}")

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the contents of a tokenizer.json."""
        return cls(text)

    @classmethod
    def load(cls, path: Path) -> Self:
        """From a tokenizer.json."""
        return cls.from_json(path.read_text(encoding="utf-8"))

    def to_json(self) -> str:
        """The contents of its tokenizer.json."""
        return self._json

    def save(self, path: Path) -> None:
        """Write its tokenizer.json."""
        path.write_text(self.to_json(), encoding="utf-8")

    @cached_property
    def vocabulary(self) -> list[str]:
        """The tokens in the order of their ids."""
        ids = self._tokenizer.get_vocab(with_added_tokens=True)
        return sorted(ids, key=ids.__getitem__)

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    def encode(self, texts: Sequence[str], *, max_length: int) -> list[list[int]]:
        """The ids of each text, at least one and at most `max_length`; a text without a token is one unknown."""
        most_characters = max(LEAST_CHARACTERS, max_length * CHARACTERS_PER_TOKEN)
        rows: list[list[int]] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            block = [readable(text, most_characters=most_characters) for text in texts[start : start + TEXTS_AT_ONCE]]
            encodings = self._tokenizer.encode_batch_fast(block, add_special_tokens=False)
            rows += [_row(encoding.ids, max_length) for encoding in encodings]
        return rows


def padded(
    ids: Sequence[Sequence[int]], *, pad_id: int = PAD_ID
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(rows, tokens) ids filled up with padding at the end, and (rows) lengths."""
    lengths = np.fromiter(map(len, ids), dtype=np.int32, count=len(ids))
    width = int(lengths.max(initial=0))
    matrix = np.full((len(ids), width), pad_id, dtype=np.int64)
    inside = np.arange(width)[None, :] < lengths[:, None]  # (rows, tokens)
    matrix[inside] = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(lengths.sum(dtype=np.int64)))
    return matrix, lengths


def _row(ids: list[int], max_length: int) -> list[int]:
    row = ids[:max_length]
    if PAD_ID in row:  # the text spells "[PAD]" and a piece model took it for one piece: padding inside a text is wrong
        row = [UNK_ID if number == PAD_ID else number for number in row]
    return row or [UNK_ID]
