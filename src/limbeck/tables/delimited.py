"""Rows of csv and tsv files: every row must have as many cells as the first."""

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path

from limbeck.errors import FileEmpty, RowMalformed
from limbeck.tables.opening import text_lines
from limbeck.tables.raw_table import NumberedCells, RawTable, Watch

LONGEST_CELL = 1 << 26  # characters; the csv module's own limit of 131,072 is too low for documents
NumberedRow = tuple[int, list[str]]


def delimited_table(
    path: Path, *, delimiter: str, header: bool, quoting: bool, encoding: str, watch: Watch
) -> RawTable:
    """A csv or tsv file. Without quoting every " is a plain character and every line is a row."""
    split = _quoted_rows if quoting else _plain_rows
    rows = split(path, delimiter=delimiter, encoding=encoding, watch=watch)
    first = next(rows, None)
    if first is None:
        raise FileEmpty(path=path)
    columns = [cell.strip() for cell in first[1]] if header else [str(number) for number in range(len(first[1]))]
    body = rows if header else chain([first], rows)
    even = _even_rows(body, path=path, width=len(columns), quoting=quoting)
    return RawTable(path=path, columns=columns, is_named=header, rows=lambda positions: _picked(even, positions))


def _picked(rows: Iterator[NumberedRow], positions: Sequence[int]) -> Iterator[NumberedCells]:
    pick: Callable[[list[str]], tuple[object, ...]]
    pick = itemgetter(*positions) if len(positions) > 1 else lambda cells: tuple(cells[at] for at in positions)
    return ((number, pick(cells)) for number, cells in rows)


def _plain_rows(path: Path, *, delimiter: str, encoding: str, watch: Watch) -> Iterator[NumberedRow]:
    # Lines end at \n alone: a stray \r inside a text must not cut it.
    lines = text_lines(path, encoding=encoding, newline="\n", watch=watch)
    for number, line in enumerate(lines, start=1):
        cells = line.rstrip("\r\n").split(delimiter)
        if len(cells) > 1 or cells[0].strip():
            yield number, cells


def _quoted_rows(path: Path, *, delimiter: str, encoding: str, watch: Watch) -> Iterator[NumberedRow]:
    csv.field_size_limit(LONGEST_CELL)
    lines = text_lines(path, encoding=encoding, newline="", watch=watch)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise RowMalformed(path=path, row=number, reason=str(error), advice=_STRAY_QUOTE) from None
        if cells is None:
            return
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield number, cells


def _even_rows(rows: Iterator[NumberedRow], *, path: Path, width: int, quoting: bool) -> Iterator[NumberedRow]:
    for number, cells in rows:
        if len(cells) != width:
            counts = f"{len(cells)} cells instead of {width}"
            advice = _advice(cells, quoting=quoting, too_many=len(cells) > width)
            raise RowMalformed(path=path, row=number, reason=counts, advice=advice)
        yield number, cells


def _advice(cells: Sequence[str], *, quoting: bool, too_many: bool) -> str:
    if quoting:
        return _UNQUOTED_DELIMITER if too_many else _STRAY_QUOTE
    has_quote = any('"' in cell for cell in cells)
    return 'Correct the row, or say quoting = true if " encloses cells in this file.' if has_quote else _CORRECT


_CORRECT = "Correct the row: the cells of every row must be those of the first."
_STRAY_QUOTE = 'Correct the row, or say quoting = false in the recipe if " is a plain character in this file.'
_UNQUOTED_DELIMITER = 'Enclose cells that hold the delimiter in ", or give the file as tsv.'
