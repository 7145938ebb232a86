"""Reading the rows to predict: csv, tsv, JSON lines or plain lines, each row with all its columns."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from limbeck.delimiters import csv_delimiter
from limbeck.errors import ColumnMissing, NothingToPredict, RowMalformed
from limbeck.runtime.lines import Lines
from limbeck.runtime.row import Row

InputFormat = Literal["csv", "tsv", "jsonl", "lines"]
ENDINGS: dict[str, InputFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "lines",
}
NOT_STREAMED = {".parquet", ".arrow", ".xlsx", ".xls"}
LONGEST_FIELD = 1 << 24  # characters; a stray quote that swallows the rest of a file is found out here, not at its end


@dataclass(frozen=True)
class Entry:
    """One row of the input: what the model is asked, and all that stood there."""

    row: Row
    columns: Sequence[str]
    values: Sequence[Any]


@dataclass(frozen=True)
class Wanted:
    """The columns asked for, by name or by number where there are no names; None stands for a default."""

    text: str | int | None
    pair: str | int | None
    is_pair: bool  # whether the model reads two texts
    trained: Mapping[str, str] = field(default_factory=dict)  # by role, what the columns were called in training

    def among(self, columns: Sequence[str], *, path: Path) -> tuple[str, ...]:
        """Names of the text's column and, for pairs, of the second text's.

        Left out, they are `text` and `pair`, or else those of the rows that the model was trained on; a file that has
        other columns, but only just as many as the model has texts, is taken as it is.
        """
        roles = {"text": self.text, "pair": self.pair} if self.is_pair else {"text": self.text}
        left_out = all(asked is None for asked in roles.values())
        if left_out and len(columns) == len(roles) and not set(roles) <= set(columns):
            return tuple(columns)
        names = tuple(self._left_out(role, columns) if asked is None else str(asked) for role, asked in roles.items())
        for role, name in zip(roles, names, strict=True):
            if name not in columns:
                raise ColumnMissing(path=path, column=name, key=f"--{role}", columns=columns)
        return names

    def _left_out(self, role: str, columns: Sequence[str]) -> str:
        trained = self.trained.get(role, role)
        return trained if role not in columns and trained in columns else role


def ending_of(path: Path) -> str:
    """What a file's name says of its contents, in lower case; that they are packed does not count."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes else ""


def detect_format(lines: Lines, *, columns_named: bool) -> InputFormat:
    """By the file's ending, else by its first line: JSON objects, or columns where columns are asked for."""
    ending = ending_of(lines.path)
    if ending in NOT_STREAMED:
        raise NothingToPredict(
            reason=f"'{lines.path}': predict does not read {ending} files",
            advice="Give csv, tsv, jsonl or plain lines, each also gzipped.",
        )
    if ending in ENDINGS:
        return ENDINGS[ending]
    first = lines.peek() or ""
    if first.lstrip().startswith("{"):
        return "jsonl"
    if columns_named:
        return "tsv" if "\t" in first else "csv"
    return "lines"


class Table:
    """A csv or tsv file: its columns, and its rows. In tsv a quote is a character like any other, and `delimiter` means
    nothing."""

    def __init__(self, lines: Lines, wanted: Wanted, *, format: Literal["csv", "tsv"], header: bool) -> None:
        self._lines = lines
        # Names tell it. A first row of texts may have a ; in it and be one cell.
        self.delimiter = csv_delimiter([lines.peek() or ""]) if header and format == "csv" else ","
        self._records = self._csv_records() if format == "csv" else self._tsv_records()
        head = next(self._records, [])
        self.columns = head if header else [str(number) for number in range(len(head))]
        self._head = [head] if head and not header else []
        names = wanted.among(self.columns, path=lines.path) if head else ()
        self._places = [self.columns.index(name) for name in names]

    def entries(self) -> Iterator[Entry]:
        """Every row, checked to have as many fields as there are columns."""
        for record in chain(self._head, self._records):
            if len(record) != len(self.columns):
                raise self._malformed(
                    f"{len(record)} fields where there are {len(self.columns)} columns",
                    advice="Quote fields that hold the delimiter or a line end (csv), or name the file's `--format`.",
                )
            yield Entry(row=_row([record[place] for place in self._places]), columns=self.columns, values=record)

    def _tsv_records(self) -> Iterator[list[str]]:
        return (line.split("\t") for line in self._lines)

    def _csv_records(self) -> Iterator[list[str]]:
        """Empty lines are left out, as csv readers do."""
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))  # the module offers this process-wide only
        try:
            yield from filter(None, self._cells())
        except csv.Error as error:
            raise self._malformed(f"not valid csv: {error}", advice="Correct its quotes.") from error

    def _cells(self) -> Iterator[list[str]]:
        return csv.reader((line + "\n" for line in self._lines), delimiter=self.delimiter, strict=True)

    def _malformed(self, reason: str, *, advice: str) -> RowMalformed:
        return RowMalformed(path=self._lines.path, row=self._lines.number, reason=reason, advice=advice)


def json_entries(lines: Lines, wanted: Wanted) -> Iterator[Entry]:
    """One JSON object on each line; empty lines are left out. The first object settles which keys are read."""
    names: tuple[str, ...] | None = None
    for line in lines:
        if line.strip():
            columns = _json_object(line, lines)
            names = names or wanted.among(list(columns), path=lines.path)
            texts = [columns.get(name) for name in names]
            if not all(isinstance(text, str) for text in texts):
                raise _json_malformed(lines, f"no text under {' and '.join(map(repr, names))}")
            yield Entry(row=_row(texts), columns=list(columns), values=list(columns.values()))


def line_entries(lines: Lines, wanted: Wanted) -> Iterator[Entry]:
    """Each line is a text, empty ones too; for pairs, two texts with a tab between."""
    if wanted.text is not None or wanted.pair is not None:
        raise NothingToPredict(
            reason=f"'{lines.path}' is read as plain lines, which have no columns",
            advice="Leave `--text` and `--pair` out, or name the file's `--format`.",
        )
    for line in lines:
        texts = line.split("\t", 1) if wanted.is_pair else [line]
        if wanted.is_pair and len(texts) != 2:
            reason, advice = "no tab between two texts", "This model reads two texts per row: give `text<TAB>text`."
            raise RowMalformed(path=lines.path, row=lines.number, reason=reason, advice=advice)
        yield Entry(row=_row(texts), columns=("text", "pair")[: len(texts)], values=texts)


def _row(texts: Sequence[Any]) -> Row:
    return texts[0] if len(texts) == 1 else (texts[0], texts[1])


def _json_object(line: str, lines: Lines) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _json_malformed(lines, f"not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise _json_malformed(lines, f"a JSON {type(found).__name__}, not an object")
    return found


def _json_malformed(lines: Lines, reason: str) -> RowMalformed:
    advice = 'Each line must be an object with the text in it, e.g. {"text": "..."}; name its key with `--text`.'
    return RowMalformed(path=lines.path, row=lines.number, reason=reason, advice=advice)
