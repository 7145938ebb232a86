"""Texts as a teacher's own tokens, by the shortest way that its tokenizer has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from transformers import PreTrainedTokenizerFast

from limbeck.recipe.teacher import LongTexts

Numbers = npt.NDArray[np.int64]
TokenRow = dict[str, list[int]]  # input_ids and what else the model reads, for each token of a row

IDS, TYPES, MASK = "input_ids", "token_type_ids", "attention_mask"
WAYS_IN = ("__call__", "_encode_plus", "_batch_encode_plus")  # of transformers' tokenizers


@dataclass(frozen=True)
class Tokens:
    """Rows of tokens one after the other: few arrays, where lists for every row would keep Python's collector busy.

    A mask of attention may be missing: it is all ones before padding, which makes its own.
    """

    lengths: Numbers  # (rows)
    columns: Mapping[str, Numbers]  # each (tokens of all rows)

    @cached_property
    def starts(self) -> Numbers:
        """(rows): where each begins in the columns."""
        starts: Numbers = np.cumsum(self.lengths) - self.lengths
        return starts

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, list[int]]]) -> "Tokens":
        """From rows that have the same columns, each with as many values."""
        lengths = np.fromiter((len(row[IDS]) for row in rows), dtype=np.int64, count=len(rows))
        return cls(lengths, {name: _flat((row[name] for row in rows), lengths) for name in (rows[0] if rows else ())})

    def rows(self) -> list[TokenRow]:
        """Each by itself."""
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
    """Ids with the model's own special tokens, cut to `max_length`; of a pair the longer text is cut first."""
    if not texts:
        return Tokens.of([])
    from_end = long_texts == "head"
    options = {"truncation": from_end, "max_length": max_length if from_end else None, "verbose": False}
    read = (_by_backend if _is_plain(tokenizer) else _by_call)(tokenizer, texts, pairs, options)
    kept = {
        place: kept_places(read.texts_of_tokens(place), max_length=max_length, head_share=head_share)
        for place in np.flatnonzero(read.lengths > max_length).tolist()  # none where texts were cut from their end
    }
    read.lengths[list(kept)] = [len(places) for places in kept.values()]
    return Tokens(read.lengths, {name: _flat(_cut(rows, kept), read.lengths) for name, rows in read.columns.items()})


class _Read(NamedTuple):
    """What a tokenizer made of texts."""

    lengths: Numbers
    columns: Mapping[str, Iterable[list[int]]]  # to be gone through once
    texts_of_tokens: Callable[
        [int], Sequence[int | None]
    ]  # place of a row → for each of its tokens, which text it is of


def _by_call(tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, options: Mapping[str, Any]) -> _Read:
    """As transformers does it, for tokenizers of every kind."""
    columns = tokenizer(list(texts), None if pairs is None else list(pairs), **options)
    lengths = np.fromiter(map(len, columns[IDS]), dtype=np.int64, count=len(texts))
    return _Read(lengths, dict(columns), columns.sequence_ids)


def _by_backend(tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None, options: Mapping[str, Any]) -> _Read:
    """The same without transformers' own steps for every row, which take about as long as the reading itself.

    The first row goes the usual way: that sets the backend up as the options say, and tells what the model reads.
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
    """Whether it is a fast one that does nothing to texts or tokens beside its backend; a few families do."""
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return False
    own, usual = type(tokenizer), PreTrainedTokenizerFast
    return all(getattr(own, name, None) is getattr(usual, name, None) for name in WAYS_IN)


def _cut(rows: Iterable[list[int]], kept: Mapping[int, Sequence[int]]) -> Iterable[list[int]]:
    """The rows; of some, only the values at the places that are kept."""
    if not kept:
        return rows
    return ([row[token] for token in kept[place]] if place in kept else row for place, row in enumerate(rows))


def _flat(rows: Iterable[Sequence[int]], lengths: Numbers) -> Numbers:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))


def kept_places(texts_of_tokens: Sequence[int | None], *, max_length: int, head_share: float) -> list[int]:
    """Places of the tokens that stay of a row, in their order: every special token, and the head and tail of each text.

    A token is of text 0 or 1, or special (None). The texts share the room that the special tokens leave, as
    `shared_room` says; a text that is cut keeps `head_share` of its part from its beginning, the rest from its end.
    """
    first = [place for place, text in enumerate(texts_of_tokens) if text == 0]
    second = [place for place, text in enumerate(texts_of_tokens) if text == 1]
    special = [place for place, text in enumerate(texts_of_tokens) if text is None]
    room = max(max_length - len(special), 0)
    counts = shared_room(len(first), len(second), room=room)
    kept = (
        head_and_tail(text, count, head_share=head_share) for text, count in zip((first, second), counts, strict=True)
    )
    return sorted([*special, *chain.from_iterable(kept)])


def shared_room(first: int, second: int, *, room: int) -> tuple[int, int]:
    """How many tokens of two texts stay. The longer one is cut first: the shorter has up to half of the room.

    So both keep something wherever there is room for two tokens. It is how tokenizers cut from the end ("longest
    first"), with which a pair keeps as many tokens of each text.
    """
    if first + second <= room:
        return first, second
    of_shorter = min(first, second, room // 2)
    of_longer = room - of_shorter
    return (of_shorter, of_longer) if first <= second else (of_longer, of_shorter)


def head_and_tail(places: Sequence[int], count: int, *, head_share: float) -> Sequence[int]:
    """`count` of the places, from both ends; at least one from each where two may stay."""
    if len(places) <= count:
        return places
    head = min(max(round(head_share * count), 1), count - 1) if count > 1 else count
    return [*places[:head], *places[len(places) - count + head :]]
