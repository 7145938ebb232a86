"""The student's tokenizer: one tokenizer.json that training, export and serving all use."""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from limbeck.text.ngrams import NgramIds, ngram_settings
from limbeck.text.plain_ids import PlainIds, TokenizerFile
from limbeck.text.segmenter import opened

PAD_ID, UNK_ID, MASK_ID = 0, 1, 2
PAD, UNK, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[MASK]")


class StudentTokenizer(TokenizerFile):
    """Texts to ids. Padding is 0, unknown is 1, mask is 2; "[MASK]" in a text is the mask, the others are plain text.

    `encode` is as fast per text for one text as for many: words that were read before are looked up, with the same
    result. Threads may share a tokenizer.

    A tokenizer.json of n-grams (limbeck.text.ngrams) is read by the same class: its ids are those of hashed n-grams,
    a masked word is dropped, and `max_length` counts words, of which each has several ids.
    """

    def __init__(self, json_text: str) -> None:
        super().__init__(json_text)
        settings = ngram_settings(json_text)
        self._tokenizer = None if settings else opened(json_text)
        self._ids: PlainIds | NgramIds
        if self._tokenizer is None:
            assert settings is not None
            self._ids, self._size = NgramIds(settings), len(SPECIAL_TOKENS) + settings.buckets
            return
        found = tuple(self._tokenizer.id_to_token(number) for number in range(len(SPECIAL_TOKENS)))
        if found != SPECIAL_TOKENS:
            raise ValueError(f"a student's first tokens must be {SPECIAL_TOKENS}, not {found}")
        self._ids = PlainIds(self._tokenizer, after=_without_padding)
        self._size = self._tokenizer.get_vocab_size(with_added_tokens=True)

    @cached_property
    def vocabulary(self) -> list[str]:
        """The tokens in the order of their ids; buckets of n-grams are named by their number."""
        if self._tokenizer is None:
            return [*SPECIAL_TOKENS, *(f"bucket {number}" for number in range(self._size - len(SPECIAL_TOKENS)))]
        ids = self._tokenizer.get_vocab(with_added_tokens=True)
        return sorted(ids, key=ids.__getitem__)

    @property
    def ngrams(self) -> NgramIds | None:
        """The reader of n-grams, if this is a tokenizer of n-grams."""
        return self._ids if isinstance(self._ids, NgramIds) else None

    def __len__(self) -> int:
        return self._size

    def encode(self, texts: Sequence[str], *, max_length: int) -> list[list[int]]:
        """The ids of each text, at least one and at most `max_length`; a text without a token is one unknown.

        Of n-grams, those of at most `max_length` words.
        """
        return [row or [UNK_ID] for row in self._ids.read(texts, max_length=max_length)]

    def lengths(self, texts: Sequence[str], *, max_length: int) -> list[int]:
        """What `max_length` counts, of each text: its ids, or the words whose n-grams are read."""
        if isinstance(self._ids, NgramIds):
            return self._ids.lengths(texts, max_length=max_length)
        return [*map(len, self.encode(texts, max_length=max_length))]


def padded(
    ids: Sequence[Sequence[int]], *, pad_id: int = PAD_ID
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(rows, tokens) ids padded at the end, and (rows) lengths."""
    lengths = np.fromiter(map(len, ids), dtype=np.int32, count=len(ids))
    width = int(lengths.max(initial=0))
    matrix = np.full((len(ids), width), pad_id, dtype=np.int64)
    inside = np.arange(width)[None, :] < lengths[:, None]  # (rows, tokens)
    matrix[inside] = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(lengths.sum(dtype=np.int64)))
    return matrix, lengths


def _without_padding(ids: list[int]) -> list[int]:
    """An unknown token wherever a piece model read "[PAD]" in a text as one piece: no text contains padding."""
    return ids if PAD_ID not in ids else [UNK_ID if number == PAD_ID else number for number in ids]
