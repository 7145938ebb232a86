"""One way to read every kind of file: `read_table` gives the wanted columns of every row as text."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, assert_never

from limbeck.delimiters import csv_delimiter
from limbeck.errors import FileEmpty, FileUnreadable, RowMalformed
from limbeck.recipe.corpus import Column, CorpusSection, FileFormat
from limbeck.recipe.transfer import Transfer
from limbeck.tables.delimited import delimited_table
from limbeck.tables.json_lines import json_table
from limbeck.tables.opening import text_lines
from limbeck.tables.parquet import parquet_table
from limbeck.tables.plain_lines import lines_table
from limbeck.tables.raw_table import ABSENT, RawTable, Watch, find_column, unwatched

KnownFormat = Literal["csv", "tsv", "jsonl", "parquet", "lines"]
ENDINGS: dict[str, KnownFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


FIRST_LINES = 20  # tell what stands between cells


class Record(NamedTuple):
    """One row: its number (see RawTable) and the wanted columns in the order they were asked for."""

    number: int
    values: tuple[str, ...]


@dataclass(frozen=True)
class TableForm:
    """How a file is to be read; the fields mean what they mean in the recipe."""

    format: FileFormat = "auto"
    header: bool = True
    quoting: Literal["auto"] | bool = "auto"
    encoding: str = "utf-8"
    txt_holds: Literal["tsv", "lines"] = "tsv"  # what "auto" takes a .txt file for

    @classmethod
    def of(cls, section: CorpusSection | Transfer) -> "TableForm":
        """As a section of the recipe says."""
        return cls(
            format=section.format,
            header=section.header,
            quoting=section.quoting,
            encoding=section.encoding,
            txt_holds="lines" if isinstance(section, Transfer) else "tsv",
        )


def read_table(
    path: Path,
    *,
    form: TableForm,
    columns: Mapping[str, Column],
    where: Mapping[str, str] | None = None,
    watch: Watch = unwatched,
) -> Iterator[Record]:
    """The rows, one by one; `columns` maps what the recipe calls a column ("text", "label") to the column.

    `where` keeps only rows whose columns hold these values. Cells of JSON and parquet become text: true → "true",
    1.0 → "1". A null, an empty label, and a row of another form than the first are errors with the row's number;
    so is a file without any row.
    """
    table = open_table(path, form=form, watch=watch)
    if "text" in columns and known_format(path, form=form) == "lines":
        columns = {**columns, "text": 0}
    yield from table_records(table, columns=columns, where=where or {})


def table_records(table: RawTable, *, columns: Mapping[str, Column], where: Mapping[str, str]) -> Iterator[Record]:
    """The rows of a table that is open already, as `read_table` gives those of a file."""
    wanted = [find_column(table, name, key=key) for key, name in columns.items()]
    conditions = {_condition_column(table, name): value for name, value in where.items()}
    keys = [*columns, *(f"where.{table.columns[position]}" for position in conditions)]
    path, is_empty = table.path, True
    for number, cells in table.rows([*wanted, *conditions]):
        is_empty = False
        values = tuple(_as_text(cell, key=key, path=path, number=number) for key, cell in zip(keys, cells, strict=True))
        if values[len(wanted) :] == tuple(conditions.values()):
            yield Record(number, values[: len(wanted)])
    if is_empty:
        raise FileEmpty(path=path)


def open_table(path: Path, *, form: TableForm, watch: Watch = unwatched) -> RawTable:
    """The file as a table whose cells are still what the file holds."""
    match kind := known_format(path, form=form):
        case "csv" | "tsv":
            return delimited_table(
                path,
                delimiter=_csv_delimiter(path, encoding=form.encoding) if kind == "csv" else "\t",
                header=form.header,
                quoting=kind == "csv" if form.quoting == "auto" else form.quoting,
                encoding=form.encoding,
                watch=watch,
            )
        case "jsonl":
            return json_table(path, encoding=form.encoding, watch=watch)
        case "parquet":
            return parquet_table(path, watch=watch)
        case "lines":
            return lines_table(path, encoding=form.encoding, watch=watch)
        case _:
            assert_never(kind)


def _csv_delimiter(path: Path, *, encoding: str) -> str:
    return csv_delimiter([*islice(text_lines(path, encoding=encoding, newline=""), FIRST_LINES)])


def known_format(path: Path, *, form: TableForm) -> KnownFormat:
    """The kind of file that "auto" means for this name, or the one that was asked for."""
    if form.format != "auto":
        return form.format
    name = path.name.lower().removesuffix(".gz")
    ending = Path(name).suffix
    if ending == ".txt":
        return form.txt_holds
    if ending not in ENDINGS:
        known = ", ".join([*ENDINGS, ".txt"])
        reason = f"its ending '{ending}' says nothing; known endings: {known}, each also with .gz"
        raise FileUnreadable(path=path, kind="rows", reason=reason)
    return ENDINGS[ending]


def _condition_column(table: RawTable, name: str) -> int:
    """The keys of `where` are always text in TOML, so "2" may mean the third column."""
    by_number = name.isdigit() and name not in table.columns
    return find_column(table, int(name) if by_number else name, key="where")


def _as_text(cell: object, *, key: str, path: Path, number: int) -> str:
    if key == "label":
        return label_text(cell, path=path, number=number)
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
        case int() | float() if not math.isnan(cell):
            return str(cell)
        case None | float():
            reason = f"`{key}` is null"
        case _ if cell is ABSENT:
            reason = f"`{key}` is missing"
        case _:
            reason = f"`{key}` is a {type(cell).__name__} and no text"
    advice = "Give every row this value as a text or a number, or take the row out of the file."
    raise RowMalformed(path=path, row=number, reason=reason, advice=advice)
