"""A row to classify: a text, or two texts; anything else is refused, with its position."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from limbeck.errors import NothingToPredict

Row: TypeAlias = str | tuple[str, str]


def characters(row: Row) -> int:
    """Length of the row's text or texts, in characters."""
    return len(row) if isinstance(row, str) else len(row[0]) + len(row[1])


def stripped(row: Row) -> Row:
    """Without leading and trailing white space, as in training."""
    return row.strip() if isinstance(row, str) else (row[0].strip(), row[1].strip())


def columns_of(rows: Sequence[Row]) -> list[list[str]]:
    """The texts of all rows and, if they are pairs, the second texts; rows are all of one kind, at least one.

    Without leading and trailing white space, as in training: for some tokenizers a word after a space is another token.
    """
    if isinstance(rows[0], str):
        return [list(map(str.strip, cast(Sequence[str], rows)))]
    return [list(map(str.strip, column)) for column in zip(*rows, strict=True)]


def refuse_no_list(rows: object, *, pair: bool) -> None:
    """Raise unless it is an iterable of rows, and neither a row itself nor a table."""
    if hasattr(rows, "columns"):  # iterating over a DataFrame gives the names of its columns
        by_name = "zip(table['text'], table['other'])" if pair else "table['text']"
        raise NothingToPredict(
            reason=f"predict takes a list of rows, not a {type(rows).__name__}",
            advice=f"Give it the column{'s' if pair else ''} to read: predict({by_name}).",
        )
    is_one = isinstance(rows, str | bytes | Mapping) or getattr(rows, "ndim", 1) == 0
    if is_one or not isinstance(rows, Iterable):
        raise NothingToPredict(
            reason=f"predict takes a list of rows, not a single {type(rows).__name__}",
            advice=f"For one row, put it into a list: predict({_example(pair)}).",
        )


def checked_rows(rows: Sequence[Any], *, pair: bool, first: int = 0) -> list[Row]:
    """The rows; anything else is refused with its position, counted from `first`.

    Subclasses of str become plain strings; a pair may be any sequence of two texts, also an array.
    """
    if not pair and all(type(row) is str for row in rows):
        return list(rows)
    return [_checked(row, pair=pair, position=position) for position, row in enumerate(rows, start=first)]


def _checked(row: object, *, pair: bool, position: int) -> Row:
    match row.tolist() if isinstance(row, np.ndarray) else row:
        case str() as text if not pair:
            return _plain(text)
        case (str() as text, str() as other) if pair:
            return _plain(text), _plain(other)
    wanted, read = ("a pair of texts", "two texts") if pair else ("a text", "one text")
    raise NothingToPredict(
        reason=f"row {position:,} (counted from 0) is {_described(row)}, not {wanted}",
        advice=f"This model reads {read} per row: predict({_example(pair)}).",
    )


def _plain(text: str) -> str:
    """A plain str: numpy strings and enum members may have other methods."""
    return text if type(text) is str else str.__str__(text)


def _example(pair: bool) -> str:
    return "[(text, other_text)]" if pair else "[text]"


def _described(row: object) -> str:
    """The type of a row, and for a sequence the types of its elements."""
    if row is None:
        return "None"
    if isinstance(row, float | np.floating) and math.isnan(row):
        return "NaN, a missing value"
    name = type(row).__name__
    name = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    if isinstance(row, tuple | list) or (isinstance(row, np.ndarray) and row.ndim):
        return f"{name} of {len(row)} ({', '.join(type(part).__name__ for part in row[:3])})"
    return name
