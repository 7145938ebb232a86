"""Rows to predict: of each what the model is asked, and all that the file has about it, so that it can be echoed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, assert_never

from limbeck.errors import FileEmpty, NothingToPredict, RowMalformed
from limbeck.runtime.row import Row
from limbeck.tables.formats import Column, FileFormat, KnownFormat, Quoting, TableForm, ending_of, named_format
from limbeck.tables.opening import Source, TextInput, path_of
from limbeck.tables.parquet import plain_cells, python_values
from limbeck.tables.raw_table import ABSENT, RawTable, find_column_as_text
from limbeck.tables.table import open_table, plain_text

ROLES = ("text", "pair")
PARQUET_ROWS = 1024  # at a time, where rows are taken one by one


class Unreadable(str):
    """The empty text in place of one that cannot be read, for whoever goes on without it."""

    reason: str

    @classmethod
    def because(cls, reason: str) -> "Unreadable":
        """With what is wrong with the row."""
        row = cls()
        row.reason = reason
        return row


class Entry(NamedTuple):
    """One row of the input: what the model is asked, and all its columns."""

    row: Row
    columns: Sequence[str]
    values: Sequence[Any]


@dataclass(frozen=True)
class Trained:
    """What the recipe of the model's run says about its rows; None where it does not say."""

    text: Column | None = None
    pair: Column | None = None
    header: bool | None = None
    quoting: Quoting | None = None
    had_tabs: bool = False  # in a .txt file, which training reads as tsv


@dataclass(frozen=True)
class Wanted:
    """The columns asked for, by name or number; None is a default."""

    text: Column | None = None
    pair: Column | None = None
    is_pair: bool = False  # whether the model reads two texts
    trained: Trained = field(default_factory=Trained)

    @property
    def names_columns(self) -> bool:
        """Whether a column is asked for."""
        return self.text is not None or self.pair is not None

    @property
    def usual_names(self) -> list[str]:
        """The names of the columns if none is asked for, by which a first line is known as a header."""
        of_training = [getattr(self.trained, role) for role in ROLES]
        return [*ROLES, *(name for name in of_training if isinstance(name, str))]

    def among(self, table: RawTable) -> tuple[int, ...]:
        """Positions of the text's column and, for pairs, of the second text's.

        The default is `text` and `pair`, or else the columns of the rows that the model was trained on; a file that
        has other columns, but only just as many as the model has texts, is taken as it is.
        """
        asked = {"text": self.text, "pair": self.pair} if self.is_pair else {"text": self.text}
        if not self.names_columns and len(table.columns) == len(asked) and not set(asked) <= set(table.columns):
            return tuple(range(len(asked)))
        return tuple(self._position(role, column, table) for role, column in asked.items())

    def _position(self, role: str, column: Column | None, table: RawTable) -> int:
        if column is None:
            trained: Column | None = getattr(self.trained, role)
            is_known = trained in table.columns or (isinstance(trained, int) and trained < len(table.columns))
            column = trained if trained is not None and role not in table.columns and is_known else role
        return find_column_as_text(table, column, key=f"--{role}")


class Chunk:
    """Rows that are answered together."""

    def __init__(
        self, rows: list[Row], entries: list[Entry] | None = None, *, batch: Any = None, path: Path | None = None
    ) -> None:
        """Of a parquet file: the `batch`, and the `path` for messages."""
        self.rows, self.batch, self._path, self._entries = rows, batch, path, entries

    @cached_property
    def entries(self) -> list[Entry]:
        """The rows with all their columns; those of a parquet file become Python's only here."""
        if self._entries is not None:
            return self._entries
        columns, cells = self.batch.schema.names, plain_cells(self.batch, path=self._path or Path())
        return [Entry(row, columns, values) for row, values in zip(self.rows, cells, strict=True)]


class InputRows:
    """An opened file or stream of rows to predict."""

    def __init__(self, table: RawTable, wanted: Wanted, *, is_tolerant: bool = False) -> None:
        """Raises where the file does not have the columns. If it `is_tolerant`, a row of JSON or parquet without a text
        is an Unreadable one, and no error."""
        self._table, self._wanted, self._is_tolerant = table, wanted, is_tolerant
        self.format: KnownFormat = table.format or "lines"
        self.delimiter = table.delimiter
        if self.format == "lines":
            if wanted.names_columns:
                raise NothingToPredict(
                    reason=f"'{table.path}' is read as plain lines, which have no columns",
                    advice="Leave `--text` and `--pair` out, or name the file's `--format`.",
                )
            self._positions: tuple[int, ...] = (0,)
        else:
            self._positions = wanted.among(table) if table.columns else ()

    @property
    def heading(self) -> Sequence[str]:
        """The names above the rows; none where there is no header, or where each row carries its own."""
        if self.format == "lines":
            return ROLES[: 1 + self._wanted.is_pair]
        return self._table.columns if self._table.is_named and self.format != "jsonl" else ()

    def chunks(self, most: int) -> Iterator[Chunk]:
        """At most this many rows at a time; fewer if the next one has not arrived yet."""
        if self._table.batches is not None:
            yield from self._parquet_chunks(self._table.batches(most))
            return
        is_drained = self._table.is_drained
        chunk: list[Entry] = []
        for entry in self.entries():
            chunk.append(entry)
            if len(chunk) >= most or is_drained():
                yield Chunk([entry.row for entry in chunk], chunk)
                chunk = []
        if chunk:
            yield Chunk([entry.row for entry in chunk], chunk)

    def entries(self) -> Iterator[Entry]:
        """Every row."""
        match self.format:
            case "lines":
                return self._line_entries()
            case "jsonl":
                return self._json_entries()
            case "csv" | "tsv":
                return self._cell_entries()
            case "parquet":
                return (entry for chunk in self.chunks(PARQUET_ROWS) for entry in chunk.entries)
            case _:
                assert_never(self.format)

    def _cell_entries(self) -> Iterator[Entry]:
        columns = self._table.columns
        rows: Iterator[tuple[int, Sequence[Any]]] = self._table.rows(range(len(columns)))
        if not self._positions:
            return iter(())
        if len(self._positions) == 1:
            (at,) = self._positions
            return (Entry(cells[at], columns, cells) for _, cells in rows)
        first, second = self._positions
        return (Entry((cells[first], cells[second]), columns, cells) for _, cells in rows)

    def _json_entries(self) -> Iterator[Entry]:
        assert self._table.objects is not None, "this is JSON"
        names = [self._table.columns[at] for at in self._positions]
        for number, values in self._table.objects():
            row = self._row([values.get(name, ABSENT) for name in names], number=number)
            yield Entry(row, list(values), list(values.values()))

    def _line_entries(self) -> Iterator[Entry]:
        """Each line is a text, empty ones too; for pairs, two texts with a tab between."""
        columns = ROLES[: 1 + self._wanted.is_pair]
        for number, (line,) in self._table.rows((0,)):
            assert isinstance(line, str), "lines are text"
            if not self._wanted.is_pair:
                yield Entry(line, columns, (line,))
                continue
            text, tab, pair = line.partition("\t")
            if not tab:
                reason, advice = "no tab between two texts", "This model reads two texts per row: give `text<TAB>text`."
                raise RowMalformed(path=self._table.path, row=number, reason=reason, advice=advice)
            yield Entry((text, pair), columns, (text, pair))

    def _parquet_chunks(self, batches: Iterator[Any]) -> Iterator[Chunk]:
        number = 1
        for batch in batches:
            columns = (python_values(batch.column(at), path=self._table.path) for at in self._positions)
            texts = zip(*columns, strict=True)
            rows = [self._row(cells, number=at) for at, cells in enumerate(texts, start=number)]
            number += batch.num_rows
            yield Chunk(rows, batch=batch, path=self._table.path)

    def _row(self, cells: Sequence[object], *, number: int) -> Row:
        try:
            texts = [
                cell if isinstance(cell, str) else plain_text(cell, key=role, path=self._table.path, number=number)
                for role, cell in zip(ROLES, cells, strict=False)
            ]
        except RowMalformed as error:
            if not self._is_tolerant:
                raise
            texts = [Unreadable.because(str(error).partition("\n")[0])] * len(cells)
        return texts[0] if len(texts) == 1 else (texts[0], texts[1])


@contextmanager
def opened_rows(
    source: Source,
    wanted: Wanted,
    *,
    format: FileFormat = "auto",
    header: bool | None = None,
    quoting: bool | None = None,
    encoding: str = "utf-8",
    is_tolerant: bool = False,
) -> Iterator[InputRows]:
    """The rows of a path or of an open stream; a path is closed afterwards, a stream is left to its owner.

    What is None is as in training, else as it is in most files: a header, and quotes in csv alone.
    """
    trained = wanted.trained
    form = TableForm(
        format=format,
        header=_first(header, trained.header, True),
        quoting=_first(quoting, trained.quoting, "auto"),
        encoding=encoding,
        txt_holds="tsv" if trained.had_tabs and _has_tabs(source, wanted, encoding=encoding) else "lines",
        by_options=True,
        is_echoed=True,
    )
    try:
        otherwise: Literal["table", "lines"] = "table" if wanted.names_columns else "lines"
        table = open_table(source, form=form, otherwise=otherwise, names=wanted.usual_names)
    except FileEmpty:
        path = path_of(source)
        table = RawTable(
            path=path,
            columns=(),
            is_named=False,
            rows=lambda _: iter(()),
            format=named_format(path, form=form) or "csv",
            objects=lambda: iter(()),
        )
    try:
        yield InputRows(table, wanted, is_tolerant=is_tolerant)
    finally:
        table.close()


def _has_tabs(source: Source, wanted: Wanted, *, encoding: str) -> bool:
    """Whether a .txt file is a table like the one of training, and not plain lines, of which pairs have one tab."""
    path = path_of(source)
    if ending_of(path) != ".txt" or not path.is_file():
        return False
    text = TextInput(path, form=TableForm(encoding=encoding, by_options=True))
    first = text.head(1).partition("\n")[0]
    text.close()
    return first.count("\t") > wanted.is_pair


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)
