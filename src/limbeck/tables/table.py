"""One way to read every kind of file: `read_table` gives the wanted columns of every row as text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, assert_never

from limbeck.errors import DataError, FileEmpty, RowMalformed, some
from limbeck.tables.delimited import delimited_table, fasttext_table, lines_table
from limbeck.tables.formats import (
    LEAST_LINES,
    Column,
    KnownFormat,
    TableForm,
    format_by_content,
    is_fasttext,
    is_sheet,
    known_format,
    named_format,
    unread_columns,
)
from limbeck.tables.json_rows import json_table
from limbeck.tables.opening import Source, TextInput, path_of, refuse_pipe
from limbeck.tables.parquet import parquet_table, starts_as_parquet
from limbeck.tables.raw_table import ABSENT, RawTable, Watch, find_column, find_column_as_text, unwatched
from limbeck.tables.sheet import sheet_table

MAY_BE_FASTTEXT = ("tsv", "lines", None)  # what .txt files are taken for, and those whose endings name no format


class Record(NamedTuple):
    """One row: its number (see RawTable) and the wanted columns in the order they were asked for."""

    number: int
    values: tuple[str, ...]


def read_table(
    path: Path,
    *,
    form: TableForm,
    columns: Mapping[str, Column],
    where: Mapping[str, str] | None = None,
    watch: Watch = unwatched,
) -> Iterator[Record]:
    """The rows, one by one; `columns` maps what the recipe calls a column ("text", "label") to the column.

    `where` keeps only rows whose columns hold these values; "" is an empty cell, blanks, or a null. Cells of JSON and
    parquet become text: true → "true", 1.0 → "1". Another null, an empty label, and a row of another form than the
    first are errors with the row's number; so is a file without any row.
    """
    table = open_table(path, form=form, watch=watch)
    if "text" in columns and table.format == "lines":
        columns = {**columns, "text": 0}
    yield from table_records(table, columns=columns, where=where or {})


def table_records(table: RawTable, *, columns: Mapping[str, Column], where: Mapping[str, str]) -> Iterator[Record]:
    """The rows of a table that is open already, as `read_table` gives those of a file."""
    wanted = [find_column(table, name, key=key) for key, name in columns.items()]
    conditions = {find_column_as_text(table, name, key="where"): value for name, value in where.items()}
    keys = [*columns, *(f"where.{table.columns[position]}" for position in conditions)]
    path, is_empty = table.path, True
    for number, cells in table.rows([*wanted, *conditions]):
        is_empty = False
        values = tuple(_as_text(cell, key=key, path=path, number=number) for key, cell in zip(keys, cells, strict=True))
        if all(_holds(cell, value) for cell, value in zip(values[len(wanted) :], conditions.values(), strict=True)):
            yield Record(number, values[: len(wanted)])
    if is_empty:
        raise FileEmpty(path=path)


def open_table(
    source: Source,
    *,
    form: TableForm,
    watch: Watch = unwatched,
    otherwise: Literal["refuse", "table", "lines"] = "refuse",
    names: Sequence[str] = (),
) -> RawTable:
    """The file or stream as a table whose cells are still what it holds. Raises FileEmpty where it holds no row.

    `otherwise` is for a source of which neither the form nor the ending names the format: refuse it, or go by its
    first lines; what is neither parquet nor JSON is then csv or tsv ("table"), or plain lines. Lines are a table all
    the same if the first has one of the `names` among its cells; lines that look like another table are refused.
    """
    path = path_of(source)
    _refuse_pipe_of_recipe(source, form)
    if is_sheet(path, form=form):
        return sheet_table(source, form=form)
    format = known_format(path, form=form) if otherwise == "refuse" else named_format(path, form=form)
    if format == "parquet" or (format is None and starts_as_parquet(source)):
        return parquet_table(source, watch=watch)
    text = TextInput(source, form=form, watch=watch)
    if _has_fasttext_labels(text, form=form, format=format):
        return fasttext_table(text)
    return _text_table(text, form=form, format=format or _by_content(text, otherwise=otherwise, names=names))


def _by_content(
    text: TextInput, *, otherwise: Literal["refuse", "table", "lines"], names: Sequence[str]
) -> Literal["csv", "tsv", "jsonl", "lines"]:
    format = format_by_content(text.head, is_table=otherwise == "table", names=names)
    if format == "lines" and (columns := unread_columns(text.head(LEAST_LINES))):
        raise TableUnnamed(path=text.path, columns=columns)
    return format


def _text_table(text: TextInput, *, form: TableForm, format: Literal["csv", "tsv", "jsonl", "lines"]) -> RawTable:
    match format:
        case "csv" | "tsv":
            return delimited_table(text, format=format, form=form)
        case "jsonl":
            return json_table(text, form=form)
        case "lines":
            return lines_table(text, form=form)
        case _:
            assert_never(format)


def _has_fasttext_labels(text: TextInput, *, form: TableForm, format: KnownFormat | None) -> bool:
    if form.format == "auto" and format in MAY_BE_FASTTEXT:
        return is_fasttext(text.head)
    return form.format == "fasttext"


def _refuse_pipe_of_recipe(source: Source, form: TableForm) -> None:
    """What a recipe names is hashed, too; what a command is given may be a pipe."""
    if not form.by_options and isinstance(source, str | Path):
        refuse_pipe(Path(source))


class TableUnnamed(DataError):
    """Lines without a named format look like a table, so that none of them may be a text."""

    def __init__(self, *, path: Path, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        super().__init__(
            f"'{path}' looks like a table, but nothing says so",
            found=f"its first line names the columns {some(columns, most=8)}",
            advice="Add --format csv (or tsv) and --text COLUMN; or --format lines if every line is a text.",
        )


def _holds(cell: str, value: str) -> bool:
    return cell == value if value else not cell.strip()


def _as_text(cell: object, *, key: str, path: Path, number: int) -> str:
    if key == "label":
        return label_text(cell, path=path, number=number)
    if cell is None and key.startswith("where."):
        return ""
    return cell if isinstance(cell, str) else plain_text(cell, key=key, path=path, number=number)


def label_text(cell: object, *, path: Path, number: int) -> str:
    """The one label of a row, without the white space around it; raises RowMalformed where there is none."""
    label = plain_text(cell, key="label", path=path, number=number).strip()
    if not label:
        advice = "Give every row a label, or take rows without one out of the file."
        raise RowMalformed(path=path, row=number, reason="the label is empty", advice=advice)
    return label


def plain_text(cell: object, *, key: str, path: Path, number: int) -> str:
    """A cell of a JSON or parquet file as text; raises RowMalformed for a null or a nested value."""
    match cell:
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer():
            return str(int(cell))
        case int():
            return _digits(cell, key=key, path=path, number=number)
        case float() if not math.isnan(cell):
            return str(cell)
        case None | float():
            reason = f"`{key}` is null"
        case _ if cell is ABSENT:
            reason = f"`{key}` is missing"
        case _:
            reason = f"`{key}` is a {type(cell).__name__} and no text"
    advice = "Give every row this value as a text or a number, or take the row out of the file."
    raise RowMalformed(path=path, row=number, reason=reason, advice=advice)


def _digits(cell: int, *, key: str, path: Path, number: int) -> str:
    try:
        return str(cell)
    except ValueError:  # Python writes no number of more than 4,300 digits
        advice = "Write it as a text, in quotes."
        reason = f"`{key}` is a number of thousands of digits"
        raise RowMalformed(path=path, row=number, reason=reason, advice=advice) from None


LONGEST_VALUE = 60  # characters


def slice_value(cell: object) -> str:
    """The cell of a column that parts rows, as one short line; empty where the cell is."""
    return "" if is_empty(cell) else " ".join(str(cell).split())[:LONGEST_VALUE]


def is_empty(cell: object) -> bool:
    """Whether nothing is in a cell: white space, a null, a key that is missing, or not a number."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or cell is ABSENT or (isinstance(cell, float) and math.isnan(cell))
