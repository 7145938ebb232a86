"""What every kind of file is to the reader: named columns, and rows of cells on demand."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.errors import ColumnMissing
from limbeck.recipe.corpus import Column

Watch = Callable[[int], None]  # told how many more bytes of the file were read
Cells = tuple[object, ...]
NumberedCells = tuple[int, Cells]


class Absent:
    """Stands for a cell whose key a JSON row lacks; None is a null that is there."""


ABSENT = Absent()


def unwatched(amount: int) -> None:
    """A watch that nobody keeps."""
    del amount


@dataclass(frozen=True)
class RawTable:
    """An opened file.

    `rows(positions)` gives, for each row, its number and the cells at these positions of `columns`; it can be
    called once. The number is the one a person would look for: in text files the line (from 1, header and blank
    lines counted; of a quoted row that goes over several lines the first), in parquet the row (from 1).
    """

    path: Path
    columns: Sequence[str]  # without a header: "0", "1", …
    is_named: bool
    rows: Callable[[Sequence[int]], Iterator[NumberedCells]]


def find_column(table: RawTable, column: Column, *, key: str) -> int:
    """The position of a column given by name or by number from 0; `key` is what the recipe calls it."""
    if isinstance(column, int) and 0 <= column < len(table.columns):
        return column
    if isinstance(column, str) and column in table.columns:
        return list(table.columns).index(column)
    raise ColumnMissing(path=table.path, column=str(column), key=key, columns=list(table.columns))
