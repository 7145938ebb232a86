"""Tokenises texts for a teacher, by the fastest path that its tokenizer supports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from transformers import PreTrainedTokenizerFast

from limbeck.recipe.teacher import LongTexts
from limbeck.text.tokenizer_limits import CHARACTERS_AT_ONCE, characters_at_once, panics_as_errors, portions

Numbers = npt.NDArray[np.int64]
TokenRow = dict[str, list[int]]  # input_ids and what else the model reads, for each token of a row

IDS, TYPES, MASK = "input_ids", "token_type_ids", "attention_mask"
ENTRY_POINTS = ("__call__", "_encode_plus", "_batch_encode_plus")  # of transformers' tokenizers


@dataclass(frozen=True)
class Tokens:
    """Rows of tokens, concatenated: a few arrays, since a list per row would slow down Python's garbage collector.

    The attention mask may be missing: it is all ones before padding, and padding creates its own.
    """

    lengths: Numbers  # (rows)
    columns: Mapping[str, Numbers]  # each (tokens of all rows)

    @cached_property
    def starts(self) -> Numbers:
        """(rows): where each row starts in the columns."""
        starts: Numbers = np.cumsum(self.lengths) - self.lengths
        return starts

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, list[int]]]) -> "Tokens":
        """From rows with the same columns; all columns of a row have the same length."""
        lengths = np.fromiter((len(row[IDS]) for row in rows), dtype=np.int64, count=len(rows))
        return cls(lengths, {name: _flat((row[name] for row in rows), lengths) for name in (rows[0] if rows else ())})

    @classmethod
    def joined(cls, parts: Sequence["Tokens"]) -> "Tokens":
        """The rows of all parts, which have the same columns."""
        if len(parts) == 1:
            return parts[0]
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        return cls(np.concatenate([part.lengths for part in parts]), columns)

    def without_empty_rows(self, token: int) -> "Tokens":
        """With one token in each row that has none: decoders have no special tokens around a text."""
        empty = self.lengths == 0
        where = self.starts[empty]
        values = {IDS: token, MASK: 1}
        filled = {name: np.insert(column, where, values.get(name, 0)) for name, column in self.columns.items()}
        return Tokens(self.lengths + empty, filled)

    def rows(self) -> list[TokenRow]:
        """One dictionary per row."""
        columns = [[part.tolist() for part in np.split(column, self.starts[1:])] for column in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def tokens_of(
    tokenizer: Any,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    *,
    max_length: int,
    long_texts: LongTexts,
    head_share: float,
) -> Tokens:
    """Ids with the model's own special tokens, truncated to `max_length`; the longer text of a pair is cut first."""
    if not texts:
        return Tokens.of([])
    rows = range(len(texts))
    sizes = [len(text) for text in texts] if pairs is None else [len(texts[at]) + len(pairs[at]) for at in rows]
    read = []
    for part in portions(rows, sizes, most=_characters_at_once(tokenizer)):
        first, last = part[0], part[-1] + 1
        of_part = None if pairs is None else pairs[first:last]
        with panics_as_errors():
            read.append(_tokens(tokenizer, texts[first:last], of_part, max_length, long_texts, head_share))
    return Tokens.joined(read)


def _characters_at_once(tokenizer: Any) -> int:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return CHARACTERS_AT_ONCE if backend is None else characters_at_once(backend)


def _tokens(
    tokenizer: Any,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    max_length: int,
    long_texts: LongTexts,
    head_share: float,
) -> Tokens:
    from_end = long_texts == "head"
    options = {"truncation": from_end, "max_length": max_length if from_end else None, "verbose": False}
    read = (_by_backend if _is_plain(tokenizer) else _by_call)(tokenizer, texts, pairs, options)
    kept = {
        place: kept_places(read.texts_of_tokens(place), max_length=max_length, head_share=head_share)
        for place in np.flatnonzero(read.lengths > max_length).tolist()  # none if texts were truncated at the end
    }
    read.lengths[list(kept)] = [len(places) for places in kept.values()]
    return Tokens(read.lengths, {name: _flat(_cut(rows, kept), read.lengths) for name, rows in read.columns.items()})


class _Read(NamedTuple):
    """The output of a tokenizer."""

    lengths: Numbers
    columns: Mapping[str, Iterable[list[int]]]  # can be iterated once
    texts_of_tokens: Callable[
        [int], Sequence[int | None]
    ]  # index of a row → for each of its tokens, which text it belongs to


def _by_call(tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, options: Mapping[str, Any]) -> _Read:
    """Through transformers, for tokenizers of every kind."""
    columns = tokenizer(list(texts), None if pairs is None else list(pairs), **options)
    lengths = np.fromiter(map(len, columns[IDS]), dtype=np.int64, count=len(texts))
    return _Read(lengths, dict(columns), columns.sequence_ids)


def _by_backend(tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, options: Mapping[str, Any]) -> _Read:
    """The same without transformers' own steps for every row, which take about as long as tokenising itself.

    The first row goes through transformers: that configures the backend and shows which columns the model reads.
    """
    names = tokenizer(list(texts[:1]), None if pairs is None else list(pairs[:1]), **options).keys()
    if not names <= {IDS, TYPES, MASK}:
        return _by_call(tokenizer, texts, pairs, options)
    asked = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
    encodings = tokenizer.backend_tokenizer.encode_batch_fast(asked)
    lengths = np.fromiter(map(len, encodings), dtype=np.int64, count=len(texts))
    columns: dict[str, Iterable[list[int]]] = {IDS: (encoding.ids for encoding in encodings)}
    if TYPES in names:
        columns[TYPES] = (encoding.type_ids for encoding in encodings)
    return _Read(lengths, columns, lambda place: encodings[place].sequence_ids)


def _is_plain(tokenizer: Any) -> bool:
    """Whether it is a fast tokenizer that leaves everything to its backend; a few families do not."""
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return False
    own, usual = type(tokenizer), PreTrainedTokenizerFast
    return all(getattr(own, name, None) is getattr(usual, name, None) for name in ENTRY_POINTS)


def _cut(rows: Iterable[list[int]], kept: Mapping[int, Sequence[int]]) -> Iterable[list[int]]:
    """The rows; for those in `kept`, only the values at these positions."""
    if not kept:
        return rows
    return ([row[token] for token in kept[place]] if place in kept else row for place, row in enumerate(rows))


def _flat(rows: Iterable[Sequence[int]], lengths: Numbers) -> Numbers:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))


def kept_places(texts_of_tokens: Sequence[int | None], *, max_length: int, head_share: float) -> list[int]:
    """Positions of a row's tokens to keep, in order: every special token, and the head and tail of each text.

    A token belongs to text 0 or 1, or is special (None). The texts share the length that the special tokens leave, see
    `shared_length`; a text that is cut keeps `head_share` of its part from its start, the rest from its end.
    """
    first = [place for place, text in enumerate(texts_of_tokens) if text == 0]
    second = [place for place, text in enumerate(texts_of_tokens) if text == 1]
    special = [place for place, text in enumerate(texts_of_tokens) if text is None]
    length = max(max_length - len(special), 0)
    counts = shared_length(len(first), len(second), length=length)
    kept = (
        head_and_tail(text, count, head_share=head_share) for text, count in zip((first, second), counts, strict=True)
    )
    return sorted([*special, *chain.from_iterable(kept)])


def shared_length(first: int, second: int, *, length: int) -> tuple[int, int]:
    """How many tokens of two texts are kept. The longer one is cut first: the shorter keeps up to half of the length.

    So both keep something if at least two tokens fit. Each text keeps the same number of tokens as with tokenizers'
    truncation at the end ("longest first").
    """
    if first + second <= length:
        return first, second
    of_shorter = min(first, second, length // 2)
    of_longer = length - of_shorter
    return (of_shorter, of_longer) if first <= second else (of_longer, of_shorter)


def head_and_tail(places: Sequence[int], count: int, *, head_share: float) -> Sequence[int]:
    """`count` of the positions, from both ends; at least one from each if `count` is two or more."""
    if len(places) <= count:
        return places
    head = min(max(round(head_share * count), 1), count - 1) if count > 1 else count
    return [*places[:head], *places[len(places) - count + head :]]
