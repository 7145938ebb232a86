"""What every kind of file is to the reader: named columns, and rows of cells on demand."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.errors import ColumnMissing
from limbeck.tables.formats import Column, KnownFormat

Watch = Callable[[int], None]  # called with how many more bytes, or rows, of the file were read
MOST_DIGITS = 9  # of the number of a column
Cells = Sequence[object]
NumberedCells = tuple[int, Cells]
NumberedObject = tuple[int, dict[str, Any]]


class Absent:
    """The type of the cell of a JSON row that lacks the key; None is a null that is there."""


ABSENT = Absent()


def unwatched(amount: int) -> None:
    """A watch that nobody keeps."""
    del amount


def _never() -> bool:
    return False


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class RawTable:
    """An opened file.

    `rows(positions)` gives, for each row, its number and the cells at these positions of `columns`; it can be
    called once. The number is the one a person would look for: in text files the line (from 1, header and blank
    lines counted; of a quoted row that goes over several lines the first), in parquet and JSON arrays the row (from 1).
    """

    path: Path
    columns: Sequence[str]  # without a header: "0", "1", …
    is_named: bool
    rows: Callable[[Sequence[int]], Iterator[NumberedCells]]
    format: KnownFormat | None = None
    delimiter: str = ","  # of csv
    objects: Callable[[], Iterator[NumberedObject]] | None = None  # of JSON, in place of `rows`: with keys of their own
    batches: Callable[[int], Iterator[Any]] | None = (
        None  # of parquet, in place of `rows`: at most this many rows at a time
    )
    is_drained: Callable[[], bool] = _never  # whether the next row of a pipe would have to be waited for
    close: Callable[[], None] = _nothing


def find_column(table: RawTable, column: Column, *, key: str) -> int:
    """The position of a column given by name or by number from 0; `key` is what the recipe calls it."""
    if isinstance(column, int) and 0 <= column < len(table.columns):
        return column
    if isinstance(column, str) and column in table.columns:
        return list(table.columns).index(column)
    columns = list(table.columns)
    raise ColumnMissing(path=table.path, column=str(column), key=key, columns=columns, finds_header=not table.is_named)


def find_column_as_text(table: RawTable, column: Column, *, key: str) -> int:
    """As `find_column` where numbers come as text too, from a command line: "2" is the third column if none has that
    name."""
    is_other = isinstance(column, str) and column not in table.columns
    return find_column(table, as_number(str(column), column) if is_other else column, key=key)


def as_number(text: str, otherwise: Column) -> Column:
    """The number of a column that a user has written; `otherwise` if it is none."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else otherwise
