"""Rows of the first sheet of an .xlsx file, as csv has them; openpyxl, which is no dependency, is imported here."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import FileEmpty, FileUnreadable, LimbeckError
from limbeck.tables.formats import SPREADSHEET, TableForm
from limbeck.tables.opening import Source, opened, path_of
from limbeck.tables.raw_table import NumberedCells, RawTable
from limbeck.tables.unpacking import is_bomb, unpacks_to_too_much

NumberedTexts = tuple[int, list[str]]
MOST_ROWS = 1 << 20  # of a sheet, as in Excel; a file may name a row beyond, and openpyxl would count up to it


def sheet_table(source: Source, *, form: TableForm) -> RawTable:
    """The first sheet; its cells are text, rows without any are no rows. Values of formulas are those last computed."""
    path = path_of(source)
    try:
        import openpyxl
    except ImportError:
        reason = "the package openpyxl, which reads it, is not installed"
        advice = f"{SPREADSHEET} Or: pip install openpyxl"
        raise FileUnreadable(path=path, kind="a spreadsheet", reason=reason, advice=advice) from None
    with opened(source):  # what is missing, or may not be read, is reported as for other files
        pass
    _refuse_bomb(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = list(_rows(book.worksheets[0]))
        book.close()
    except LimbeckError:
        raise
    except Exception as error:  # of the zip, of its XML, or of openpyxl
        reason = str(error) or type(error).__name__
        raise FileUnreadable(path=path, kind="a spreadsheet", reason=reason, advice=SPREADSHEET) from None
    if not rows:
        raise FileEmpty(path=path)
    width = max(len(cells) for _, cells in rows)
    even = [(number, [*cells, *[""] * (width - len(cells))]) for number, cells in rows]
    columns = [cell.strip() for cell in even[0][1]] if form.header else [str(number) for number in range(width)]

    def picked(positions: Sequence[int]) -> Iterator[NumberedCells]:
        return ((number, [cells[at] for at in positions]) for number, cells in even[form.header :])

    return RawTable(path=path, columns=columns, is_named=form.header, rows=picked, format="csv")


def _refuse_bomb(path: Path) -> None:
    """By the sizes that its zip claims: no more than these is ever unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):  # the last is zipfile's: a newer form of zip
        return  # openpyxl reports all of them
    if is_bomb(unpacked, packed=path.stat().st_size):
        raise unpacks_to_too_much(path, packed=path.stat().st_size, kind="a spreadsheet")


def _rows(sheet: Any) -> Iterator[NumberedTexts]:
    """The rows that are not empty, without empty cells at their ends, each with its number in the sheet."""
    for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:
            raise ValueError(f"it has rows beyond row {MOST_ROWS:,}")
        cells = [_text(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
