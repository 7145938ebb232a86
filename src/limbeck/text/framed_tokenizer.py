"""The tokenizer of students that read special tokens around a text; training, export and serving all use it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from limbeck.text.piece_memo import Ids
from limbeck.text.plain_ids import TEXTS_AT_ONCE, PlainIds, TokenizerFile
from limbeck.text.student_tokenizer import MASK
from limbeck.text.tokenizer_limits import LONGEST_AFFIX, MOST_IDS, TokenizerRefused, characters_at_once


@dataclass(frozen=True)
class Frame:
    """The special tokens before, between and after texts, and the type of each token.

    One text has two gaps around it, two texts have three; a gap is a list of (id, type).
    """

    gaps: tuple[tuple[tuple[int, int], ...], ...]
    text_types: tuple[int, ...]

    @classmethod
    def read_off(cls, tokenizer: Tokenizer, *, texts: int) -> Self:
        """The frame that the tokenizer's post-processor puts around one text or two."""
        probe = Tokenizer(WordLevel({"a": 0}, unk_token="a"))  # makes one token of "a", whatever the vocabulary is
        if tokenizer.post_processor is not None:
            probe.post_processor = tokenizer.post_processor
        row = probe.encode("a", "a" if texts == 2 else None)
        gaps: list[list[tuple[int, int]]] = [[]]
        text_types = []
        for number, kind, text in zip(row.ids, row.type_ids, row.sequence_ids, strict=True):
            if text is None:
                gaps[-1].append((number, kind))
            else:
                gaps.append([])
                text_types.append(kind)
        return cls(tuple(map(tuple, gaps)), tuple(text_types))

    @property
    def size(self) -> int:
        """The number of special tokens it adds."""
        return sum(map(len, self.gaps))

    @cached_property
    def _ids(self) -> list[Ids]:
        return [[number for number, _ in gap] for gap in self.gaps]

    @cached_property
    def _types(self) -> list[Ids]:
        return [[kind for _, kind in gap] for gap in self.gaps]

    def around(self, *texts: Ids) -> Ids:
        """The ids of a row."""
        row = list(self._ids[0])
        for text, gap in zip(texts, self._ids[1:], strict=True):
            row += text
            row += gap
        return row

    def types_around(self, *texts: Ids) -> Ids:
        """The types of a row's tokens."""
        row = list(self._types[0])
        for text, kind, gap in zip(texts, self.text_types, self._types[1:], strict=True):
            row += [kind] * len(text)
            row += gap
        return row


class FramedTokenizer(TokenizerFile):
    """Texts and pairs of texts to ids, with the special tokens of the post-processor in its tokenizer.json.

    "[MASK]" in a text is the mask if the vocabulary has one, else an unknown token; no text produces padding. The id
    of padding is in the "padding" entry of tokenizer.json; the tokenizers library itself neither pads nor truncates.
    """

    def __init__(self, json_text: str) -> None:
        super().__init__(json_text)
        state = json.loads(json_text)
        if not state.get("padding"):
            raise ValueError("a framed tokenizer.json needs a padding entry that says which token pads")
        self.pad_id: int = state["padding"]["pad_id"]
        tokenizer = Tokenizer.from_str(json_text)
        characters_at_once(tokenizer)  # raises before texts are put into frames
        self._one, self._two = (Frame.read_off(tokenizer, texts=texts) for texts in (1, 2))
        if not self._one.size:
            raise ValueError("a framed tokenizer.json needs a post-processor that puts special tokens around a text")
        self._ids = tokenizer.get_vocab(with_added_tokens=True)
        if len(self) > MOST_IDS:
            raise TokenizerRefused(reason=f"its tokens have numbers up to {len(self) - 1:,}")
        self._unknown = _unknown_token(state["model"], self._ids)
        if len(self._unknown or "") > LONGEST_AFFIX:  # it takes the place of masks
            raise TokenizerRefused(reason=f"its unknown token has more than {LONGEST_AFFIX} characters")
        has_mask = MASK in self._ids or self._unknown is None
        self._plain = PlainIds(tokenizer, before=None if has_mask else self._without_mask, after=self._without_padding)

    @cached_property
    def vocabulary(self) -> list[str]:
        """The token of each id; "" for an id that no token has."""
        tokens = [""] * len(self)
        for token, number in self._ids.items():
            tokens[number] = token
        return tokens

    def __len__(self) -> int:
        """The highest id plus one: the number of rows of an embedding table for it."""
        return max(self._ids.values()) + 1

    @property
    def has_types(self) -> bool:
        """Whether the tokens of second texts have another type (1) than those of first ones (0)."""
        return any(self._two.text_types)

    @property
    def unknown_id(self) -> int | None:
        """The id of what is not in the vocabulary; None if there is no such token."""
        return None if self._unknown is None else self._ids[self._unknown]

    @property
    def special_tokens(self) -> int:
        """How many there are around one text."""
        return self._one.size

    def encode(self, texts: Sequence[str], *, max_length: int) -> list[Ids]:
        """The ids of each text with its special tokens, at most `max_length`; all of them are of type 0."""
        most = max(0, max_length - self._one.size)
        return [self._one.around(ids[:most]) for ids in self._plain.read(texts, max_length=max_length)]

    def encode_pairs(
        self, texts: Sequence[str], pairs: Sequence[str], *, max_length: int
    ) -> tuple[list[Ids], list[Ids]]:
        """The ids of each pair with its special tokens, and the types of these tokens.

        At most `max_length` of them: the longer text is truncated first, like "longest_first" of transformers.
        """
        most = max(0, max_length - self._two.size)
        rows: list[Ids] = []
        types: list[Ids] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            of_block = slice(start, start + TEXTS_AT_ONCE)
            firsts, seconds = (
                self._plain.read(column[of_block], max_length=max_length, truncate=False) for column in (texts, pairs)
            )
            for first, second in zip(firsts, seconds, strict=True):
                kept = kept_lengths(len(first), len(second), most=most)
                cut = first[: kept[0]], second[: kept[1]]
                rows.append(self._two.around(*cut))
                types.append(self._two.types_around(*cut))
        return rows, types

    def _without_mask(self, text: str) -> str:
        return text if self._unknown is None else text.replace(MASK, self._unknown)

    def _without_padding(self, ids: Ids) -> Ids:
        """An unknown token wherever a text spells the padding token: padding must not occur inside a text."""
        if self.pad_id not in ids:
            return ids
        replacement = [] if self._unknown is None else [self._ids[self._unknown]]
        return [number for found in ids for number in (replacement if found == self.pad_id else [found])]


def kept_lengths(first: int, second: int, *, most: int) -> tuple[int, int]:
    """The lengths of two texts that may have `most` tokens together.

    The longer text is truncated until both are equal, then both. If `most` is odd, the longer text gets one token more;
    of two equally long texts, the second.
    """
    if first + second <= most:
        return first, second
    shorter = min(first, second)
    if 2 * shorter > most:
        shorter = most // 2
    return (most - shorter, shorter) if first > second else (shorter, most - shorter)


def _unknown_token(model: dict[str, Any], ids: dict[str, int]) -> str | None:
    """The model's own, or the usual name of it: RoBERTa's byte-level BPE has one without needing it."""
    if model.get("unk_id") is not None:
        return str(model["vocab"][model["unk_id"]][0])
    return next((name for name in (model.get("unk_token"), "<unk>", "[UNK]") if name in ids), None)
