"""Rows of csv and tsv files, of which each must have as many cells as the first, and rows of plain lines."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Literal

from limbeck.errors import FileEmpty, RowMalformed
from limbeck.tables.formats import FASTTEXT_LABEL, CsvSigns, TableForm, csv_signs
from limbeck.tables.opening import LONGEST_ROW, TextInput
from limbeck.tables.raw_table import NumberedCells, RawTable

LONGEST_CELL = LONGEST_ROW  # characters; the csv module's own limit of 131,072 is too low for documents
ONLY_COLUMN = "line"
IN_FASTTEXT = re.compile(rf"(?:^|(?<=\s)){FASTTEXT_LABEL}(\S+)\s?")
NumberedRow = tuple[int, list[str]]


def delimited_table(text: TextInput, *, format: Literal["csv", "tsv"], form: TableForm) -> RawTable:
    """A csv or tsv file. Without quoting every " is a plain character and every line is a row."""
    quoting = format == "csv" if form.quoting == "auto" else form.quoting
    signs = csv_signs(text.head(), header=form.header) if format == "csv" else CsvSigns("\t")
    read = _quoted_rows if quoting else _plain_rows
    rows = read(text, signs=signs, form=form)
    first = next(rows, None)
    if first is None:
        raise FileEmpty(path=text.path)
    columns = [cell.strip() for cell in first[1]] if form.header else [str(number) for number in range(len(first[1]))]
    body = rows if form.header else chain([first], rows)
    return RawTable(
        path=text.path,
        columns=columns,
        is_named=form.header,
        rows=lambda positions: _picked(body, positions, width=len(columns)),
        format=format,
        delimiter=signs.delimiter if format == "csv" else ",",
        is_drained=lambda: text.drained,
        close=text.close,
    )


def lines_table(text: TextInput, *, form: TableForm) -> RawTable:
    """A file of plain lines: each that is not blank is a row with one cell; where rows are echoed, every line is."""

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        for number, line in enumerate(text.lines(), start=1):
            if form.is_echoed:
                yield number, (line,)
            elif stripped := line.strip():
                yield number, (stripped,) * len(positions)

    return RawTable(
        path=text.path,
        columns=[ONLY_COLUMN],
        is_named=True,
        rows=rows,
        format="lines",
        is_drained=lambda: text.drained,
        close=text.close,
    )


def fasttext_table(text: TextInput) -> RawTable:
    """Lines as fastText reads them: words, some of them labels. Several labels are one cell, with | between them."""

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        for number, line in enumerate(text.lines(), start=1):
            if line.strip():
                labels = "|".join(IN_FASTTEXT.findall(line))
                cells = (labels, IN_FASTTEXT.sub("", line).strip())
                yield number, tuple(cells[at] for at in positions)

    return RawTable(
        path=text.path,
        columns=["label", "text"],
        is_named=True,
        rows=rows,
        format="csv",
        is_drained=lambda: text.drained,
        close=text.close,
    )


def _picked(rows: Iterator[NumberedRow], positions: Sequence[int], *, width: int) -> Iterator[NumberedCells]:
    if list(positions) == list(range(width)):
        return rows
    pick: Callable[[list[str]], tuple[object, ...]]
    pick = itemgetter(*positions) if len(positions) > 1 else lambda cells: tuple(cells[at] for at in positions)
    return ((number, pick(cells)) for number, cells in rows)


def _plain_rows(text: TextInput, *, signs: CsvSigns, form: TableForm) -> Iterator[NumberedRow]:
    width = 0  # until the first row that is not blank has set it
    for number, line in enumerate(text.lines(), start=1):
        if number == 1 and signs.is_declared:
            continue
        cells = line.split(signs.delimiter)
        if len(cells) != width or width == 1:
            if _is_blank(cells):
                continue
            width = width or len(cells)
            if len(cells) != width:
                raise _uneven(cells, width, text=text, number=number, form=form, quoting=False)
        yield number, cells


def _quoted_rows(text: TextInput, *, signs: CsvSigns, form: TableForm) -> Iterator[NumberedRow]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))  # the module offers this process-wide only
    skipped = int(signs.is_declared)
    lines = islice(text.lines_with_ends(), skipped, None)
    reader = csv.reader(lines, delimiter=signs.delimiter, skipinitialspace=signs.skips_blanks, strict=True)
    number, width = 1 + skipped, -1
    try:
        for cells in reader:
            if len(cells) == width:  # in a table of one column "" is an empty text, and an empty line is no row
                yield number, cells
            elif not _is_blank(cells):
                width = len(cells) if width < 0 else width
                if len(cells) != width:
                    raise _uneven(cells, width, text=text, number=number, form=form, quoting=True)
                yield number, cells
            number = reader.line_num + 1 + skipped
            text.begin_row(number)
    except csv.Error as error:
        advice = f'Correct the row, or {form.say("quoting", "false")} if " is a plain character in this file.'
        reason = f"not valid csv: {error}"
        raise RowMalformed(path=text.path, row=number, reason=reason, advice=advice) from None


def _is_blank(cells: Sequence[str]) -> bool:
    return not cells or (len(cells) == 1 and not cells[0].strip())


def _uneven(
    cells: Sequence[str], width: int, *, text: TextInput, number: int, form: TableForm, quoting: bool
) -> RowMalformed:
    reason = f"{len(cells)} cells instead of {width}"
    if width == 1:
        advice = f'If every line is one text, {form.say("format", "lines")}; else enclose cells that hold a comma in ".'
    elif quoting and len(cells) > width:
        advice = 'Enclose cells that hold the delimiter in ", or give the file as tsv.'
    elif quoting:
        advice = f'Correct the row, or {form.say("quoting", "false")} if " is a plain character in this file.'
    elif any('"' in cell for cell in cells):
        advice = f'Correct the row, or {form.say("quoting", "true")} if " encloses cells in this file.'
    else:
        advice = "Correct the row: the cells of every row must be those of the first."
    return RowMalformed(path=text.path, row=number, reason=reason, advice=advice)
