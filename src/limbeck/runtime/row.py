"""What a model is asked about: a text, or two texts; and the refusal of anything else, with its place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from limbeck.errors import NothingToPredict

Row: TypeAlias = str | tuple[str, str]


def characters(row: Row) -> int:
    """Length of the row's text or texts, in characters."""
    return len(row) if isinstance(row, str) else len(row[0]) + len(row[1])


def columns_of(rows: Sequence[Row]) -> list[list[str]]:
    """The texts of all rows and, if they are pairs, the second texts; rows are all of one kind, and at least one."""
    split = [(row,) if isinstance(row, str) else row for row in rows]
    return [list(column) for column in zip(*split, strict=True)]


def checked_rows(rows: Iterable[Row], *, pair: bool) -> Iterator[Row]:
    """The rows as they come, each checked before it is handed on."""
    example = "[(text, other_text)]" if pair else "[text]"
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise NothingToPredict(
            reason=f"predict takes a list of rows, not a single {type(rows).__name__}",
            advice=f"For one row, put it into a list: predict({example}).",
        )
    return _checked(rows, pair=pair, example=example)


def _checked(rows: Iterable[object], *, pair: bool, example: str) -> Iterator[Row]:
    for position, row in enumerate(rows):
        match row:
            case str() if not pair:
                yield row
            case (str() as text, str() as other) if pair:
                yield text, other
            case _:
                wanted = "a pair of texts" if pair else "a text"
                raise NothingToPredict(
                    reason=f"row {position:,} (counted from 0) is {_described(row)}, not {wanted}",
                    advice=f"This model reads {'two texts' if pair else 'one text'} per row: predict({example}).",
                )


def _described(row: object) -> str:
    """The type of a row, and for a sequence the types of what is in it."""
    name = "None" if row is None else f"a {type(row).__name__}"
    if isinstance(row, tuple | list):
        return f"{name} of {len(row)} ({', '.join(type(part).__name__ for part in row[:3])})"
    return name
