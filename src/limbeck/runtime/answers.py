"""Writing rows with their predictions: as the table, the JSON or the plain lines they came as, or as another."""

import csv
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TextIO, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.errors import NothingToPredict
from limbeck.runtime.abstaining import Scored
from limbeck.runtime.entries import Chunk, Entry
from limbeck.runtime.probabilities import best_labels, label_sets
from limbeck.tables.formats import ENDINGS, NOT_READ, SHEETS, KnownFormat, ending_of
from limbeck.tables.opening import LONE_SURROGATE
from limbeck.tables.parquet import ParquetSink, cell_text, json_value, pyarrow

OutputFormat = Literal["same", "csv", "tsv", "jsonl", "parquet"]  # "same": as the input
LineFormat = Literal["csv", "tsv", "jsonl", "lines"]

DIGITS = 6
SCORE = "score"  # the column or key of a model that abstains: how sure it is
ANSWERED_BY = "answered_by"  # the column or key of a cascade: "student" or "fallback"
BETWEEN_LABELS = "|"  # as corpora have it unless their recipe says otherwise
OTHER_OUTPUT = "Name the output .csv, .tsv, .jsonl or .parquet; text may be packed with .gz behind it."


def output_format(path: Path) -> OutputFormat:
    """The format that the ending of a file to write names; .txt, and an ending that names none, is as the input."""
    ending = ending_of(path)
    if ending in (*NOT_READ, *SHEETS):
        raise NothingToPredict(reason=f"'{path}': predict does not write {ending} files", advice=OTHER_OUTPUT)
    format = ENDINGS.get(ending, "lines")
    if format == "parquet" and path.suffix.lower() == ".gz":
        raise NothingToPredict(reason=f"'{path}': parquet is packed inside", advice="Leave .gz out of the name.")
    return "same" if format == "lines" else format


def written_format(read: KnownFormat, asked: OutputFormat) -> KnownFormat:
    """The format in which rows come out that came in as `read`; parquet is written only where it is asked for.

    Raises for JSON that is to be csv or tsv.
    """
    if asked == "same":
        return "jsonl" if read == "parquet" else read
    if read == "jsonl" and asked in ("csv", "tsv"):
        raise NothingToPredict(
            reason=f"JSON lines cannot be written as {asked}: each may have other keys, and lists among its values",
            advice="Write JSON lines or parquet: name the output .jsonl or .parquet.",
        )
    return asked


Probabilities = npt.NDArray[np.floating[Any]]  # (rows, classes); or scores (rows, 1)


class WritesLines(Protocol):
    """Turns entries and what the model says of them into lines."""

    def heading(self, columns: Sequence[str]) -> str: ...
    def lines(
        self,
        entries: Sequence[Entry],
        probabilities: Probabilities,
        answered_by: Sequence[str] = (),
        scored: Scored | None = None,
    ) -> Iterator[str]: ...


class TextAnswers:
    """Writes lines to a text file, and the heading before the first of them."""

    def __init__(self, lines: "WritesLines", sink: TextIO, *, heading: Sequence[str]) -> None:
        self._lines, self._sink = lines, sink
        self._heading = lines.heading(heading)  # still to be written: not before rows could be read

    def write(
        self,
        chunk: Chunk,
        probabilities: Probabilities,
        answered_by: Sequence[str] = (),
        scored: Scored | None = None,
    ) -> None:
        """Write the rows, and hand them on."""
        self._write_heading()
        self._sink.writelines(self._lines.lines(chunk.entries, probabilities, answered_by, scored))
        self._sink.flush()

    def close(self) -> None:
        """A file without rows has its heading all the same."""
        self._write_heading()

    def _write_heading(self) -> None:
        if self._heading:
            self._sink.write(self._heading)
            self._heading = ""


class ParquetAnswers:
    """Writes a parquet file: the columns that were there, `label` and a `probability_<class>` for each class; of a
    model that abstains also `score`, of a cascade also `answered_by`. Where no label is given, `label` is a null.

    The columns of a parquet file keep their types, those of csv, tsv and plain lines are text, those of JSON have the
    types of the first rows. `label` is text, or a list where a row may have several; probabilities are float32.
    """

    def __init__(
        self,
        labels: Sequence[str],
        sink: BinaryIO,
        *,
        multi_label: bool,
        heading: Sequence[str] = (),
        is_cascade: bool = False,
        abstains: bool = False,
    ) -> None:
        """`heading` are the columns of a file without rows."""
        self._is_cascade, self._abstains = is_cascade, abstains
        self._labels, self._multi_label, self._heading = labels, multi_label, heading
        self._arrow, _ = pyarrow(purpose="writing parquet files")
        self._sink, self._schema, self._is_begun = ParquetSink(sink), None, False

    def write(
        self,
        chunk: Chunk,
        probabilities: Probabilities,
        answered_by: Sequence[str] = (),
        scored: Scored | None = None,
        failed: Sequence[bool] | None = None,
    ) -> None:
        """Write the rows; those that have `failed` with nulls in place of an answer."""
        batch = chunk.batch if chunk.batch is not None else self._batch(chunk.entries)
        self._write(batch, probabilities, answered_by, scored, failed)

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        if not self._is_begun:
            none = self._arrow.array([], self._arrow.string())
            empty = self._arrow.RecordBatch.from_arrays([none] * len(self._heading), names=list(self._heading))
            self._write(empty, np.zeros((0, len(self._labels)), dtype=np.float32), ())
        self._sink.close()

    def _write(
        self,
        batch: Any,
        probabilities: Probabilities,
        answered_by: Sequence[str],
        scored: Scored | None = None,
        failed: Sequence[bool] | None = None,
    ) -> None:
        pa, schema, taken = self._arrow, batch.schema, batch.schema.names
        self._is_begun = True
        added = self._added(probabilities, answered_by, taken, scored)
        if failed is not None and any(failed):
            places = pa.array(range(len(failed)), pa.int64(), mask=np.asarray(failed))
            added = {name: array.take(places) for name, array in added.items()}  # a null takes a null
        for name, array in added.items():
            schema = schema.append(pa.field(name, array.type))
        self._sink.write(pa.RecordBatch.from_arrays([*batch.columns, *added.values()], schema=schema))

    def _added(
        self, probabilities: Probabilities, answered_by: Sequence[str], taken: Sequence[str], scored: Scored | None
    ) -> dict[str, Any]:
        """The columns that are added, by name."""
        pa = self._arrow
        said: list[Any] = _said(probabilities, self._labels, multi_label=self._multi_label)
        kind = pa.list_(pa.string()) if self._multi_label else pa.string()
        label = pa.array(said if self._multi_label else _given([one for (one,) in said], scored), kind)
        added = {free_name("label", taken): label}
        for at, name in enumerate(self._labels):
            added[free_name(f"probability_{name}", taken)] = pa.array(probabilities[:, at], pa.float32())
        if self._abstains:
            added[free_name(SCORE, taken)] = pa.array([] if scored is None else scored.scores, pa.float64())
        if self._is_cascade:
            added[free_name(ANSWERED_BY, taken)] = pa.array(list(answered_by), pa.string())
        return added

    def _batch(self, entries: Sequence[Entry]) -> Any:
        """The entries with the types that the first of them had."""
        pa = self._arrow
        names, columns = self._columns(entries)
        arrays = []
        for at, (name, values) in enumerate(zip(names, columns, strict=True)):
            try:
                array = pa.array(values, None if self._schema is None else self._schema.types[at])
            except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError) as error:
                raise _not_parquet(f"{name!r} has values of several types, or no text: {error}") from None
            arrays.append(array.cast(pa.string()) if pa.types.is_null(array.type) else array)
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        self._schema = self._schema or batch.schema
        return batch

    def _columns(self, entries: Sequence[Entry]) -> tuple[Sequence[str], list[list[Any]]]:
        """The names of the columns, and the values of each; a key that a JSON row lacks is a null there."""
        names = entries[0].columns
        is_first = self._schema is None or list(names) == self._schema.names
        if is_first and all(entry.columns is names for entry in entries):  # a table: a name may be there twice
            return names, [list(values) for values in zip(*(entry.values for entry in entries), strict=True)]
        keys = dict.fromkeys(key for entry in entries for key in entry.columns)
        names = list(keys) if self._schema is None else self._schema.names
        if unknown := [key for key in keys if key not in names]:
            raise _not_parquet(f"the key {unknown[0]!r} is not in the first rows")
        rows = [dict(zip(entry.columns, entry.values, strict=True)) for entry in entries]
        return names, [[row.get(name) for row in rows] for name in names]


def _not_parquet(reason: str) -> NothingToPredict:
    return NothingToPredict(
        reason=f"these rows cannot be written as parquet: {reason.splitlines()[0]}",
        advice="Write JSON lines: name the output .jsonl.",
    )


class PredictionWriter:
    """Turns entries and their probabilities into lines of output.

    csv, tsv: the columns that were there, then `label` and a `probability_<class>` for each class; in csv with the
    `delimiter` between them.
    jsonl: the object that was there, with "label" and "probabilities" {class: probability}.
    lines: label, its probability and the text, with tabs between; the text comes last, tabs and all.
    Plain lines that become a table have the columns `text` and, for pairs, `pair`.
    If a row may have several labels, `label` holds them with | between them, in jsonl as a list; the probability
    in plain lines is that of the least probable one, or, where no label applies, that of the most probable.
    A model that abstains gives no label where it is not sure enough: an empty cell, in jsonl null, or what its recipe
    names. How sure it is of each row is in `score`, behind the probabilities, and in plain lines in their place.
    Of a cascade there is `answered_by` too, "student" or "fallback": the last column or key, in plain lines before
    the text.
    A column or key that is already called so is never overwritten: the new one is then `predicted_label` and so on.
    """

    def __init__(
        self,
        labels: Sequence[str],
        *,
        format: LineFormat,
        multi_label: bool = False,
        delimiter: str = ",",
        is_cascade: bool = False,
        abstains: bool = False,
    ) -> None:
        self._is_cascade, self._abstains = is_cascade, abstains
        self._labels, self._format, self._multi_label = labels, format, multi_label
        self._csv = csv.writer(HandedBack(), delimiter=delimiter, lineterminator="\n")

    def heading(self, columns: Sequence[str]) -> str:
        """The line of column names; nothing where there are none, or where each row carries its own."""
        if not columns or self._format in ("jsonl", "lines"):
            return ""
        added = [free_name("label", columns), *(free_name(f"probability_{label}", columns) for label in self._labels)]
        if self._abstains:
            added.append(free_name(SCORE, columns))
        if self._is_cascade:
            added.append(free_name(ANSWERED_BY, columns))
        return self._delimited([*columns, *added])

    def lines(
        self,
        entries: Sequence[Entry],
        probabilities: Probabilities,
        answered_by: Sequence[str] = (),
        scored: Scored | None = None,
    ) -> Iterator[str]:
        """A row of output for each entry, with its line end; `answered_by` has one name for each row of a cascade, and
        `scored` is that of a model that abstains."""
        said = _said(probabilities, self._labels, multi_label=self._multi_label)
        names: Sequence[Sequence[str]] = [[name] for name in answered_by] if self._is_cascade else [()] * len(entries)
        scores = scored.scores.tolist() if scored else [None] * len(entries)
        withheld = scored.withheld.tolist() if scored else [False] * len(entries)
        parts = zip(entries, said, probabilities.tolist(), names, scores, withheld, strict=True)
        for entry, labels, of_row, name, score, is_withheld in parts:
            if is_withheld and scored is not None:
                labels = [] if scored.answer is None else [scored.answer]
            yield self._line(entry, labels, of_row, name, score)

    def _line(
        self, entry: Entry, said: list[str], probabilities: list[float], by: Sequence[str], score: float | None
    ) -> str:
        """`by` is whose answer it is, for a cascade; otherwise empty. `score` is None if the model never abstains."""
        label = BETWEEN_LABELS.join(said)
        match self._format:
            case "jsonl":
                by_class = {name: round(value, DIGITS) for name, value in zip(self._labels, probabilities, strict=True)}
                given = said if self._multi_label else label if said else None
                added: dict[str, object] = {"label": given, "probabilities": by_class}
                added |= {} if score is None else {SCORE: round(score, DIGITS)}
                return json_line(entry, {**added, ANSWERED_BY: by[0]} if by else added)
            case "lines":
                sure = _least_of(said, probabilities, self._labels) if score is None else score
                return "\t".join([label, _digits(sure), *by, *entry.values]) + "\n"
            case "csv" | "tsv":
                sureness = [] if score is None else [_digits(score)]
                return self._delimited([*entry.values, label, *map(_digits, probabilities), *sureness, *by])
            case _:
                assert_never(self._format)

    def _delimited(self, fields: Sequence[Any]) -> str:
        return delimited(fields, is_tsv=self._format == "tsv", writer=self._csv)


def delimited(fields: Sequence[Any], *, is_tsv: bool, writer: Any) -> str:
    """A line of csv or tsv; the csv `writer` writes to a file of the kind HandedBack."""
    if not all(isinstance(field, str) for field in fields):
        fields = [cell_text(field) for field in fields]
    if is_tsv:
        return _tab_separated(fields)
    line: str = writer.writerow(fields)  # what the file's `write` returns
    return line


def _said(probabilities: Probabilities, labels: Sequence[str], *, multi_label: bool) -> list[list[str]]:
    """The labels of each row."""
    if multi_label:
        return label_sets(probabilities, labels)
    return [[label] for label in best_labels(probabilities, labels)]


def _given(labels: list[str], scored: Scored | None) -> list[str] | list[str | None]:
    """The labels, but for those that are withheld."""
    return labels if scored is None else scored.labels(labels)


def _least_of(said: Sequence[str], probabilities: Sequence[float], labels: Sequence[str]) -> float:
    """The probability of the least probable label that is given; of none, that of the most probable label."""
    return min((probabilities[labels.index(one)] for one in said), default=max(probabilities))


class HandedBack:
    """A file for csv.writer that hands each line back to whoever writes it."""

    def write(self, line: str) -> str:
        return line


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=json_value)


def _tab_separated(fields: Sequence[str]) -> str:
    """Raises where a field has a tab or a line end in it: tsv, as it is read here, has no quotes to put around it."""
    line = "\t".join(fields)
    if line.count("\t") >= len(fields) or "\n" in line:
        found = next(field for field in fields if "\t" in field or "\n" in field)
        raise NothingToPredict(
            reason=f"a field with a tab or a line end cannot be written as tsv: {found[:40]!r}",
            advice="Write csv or JSON lines: name the output .csv or .jsonl.",
        )
    return line + "\n"


def json_line(entry: Entry, added: dict[str, object]) -> str:
    """The object that was there, with what is added."""
    fields = dict(zip(entry.columns, entry.values, strict=True))
    fields |= {free_name(name, entry.columns): value for name, value in added.items()}
    try:
        line = _JSON.encode(fields)
    except ValueError:  # 1e400 is infinite, and JSON has no word for that
        fields = {name: _without_infinity(value) for name, value in fields.items()}
        line = _JSON.encode(fields)
    # Half a character, which JSON can escape and UTF-8 cannot hold: escape it again.
    has_half = not line.isascii() and LONE_SURROGATE.search(line)
    return (json.dumps(fields, default=json_value) if has_half else line) + "\n"


def _without_infinity(value: object) -> object:
    """The value with null in place of what is infinite or not a number."""
    match value:
        case dict():
            return {key: _without_infinity(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_without_infinity(inner) for inner in value]
        case float() if not math.isfinite(value):
            return None
    return value


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, or another one if a column has it already."""
    while name in taken:
        name = f"predicted_{name}"
    return name


def _digits(probability: float) -> str:
    return f"{probability:.{DIGITS}f}"
