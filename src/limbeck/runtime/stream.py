"""Predicting a stream: rows in, the same rows with labels and probabilities out, in constant memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TextIO, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import NothingToPredict
from limbeck.runtime.answers import OutputFormat, PredictionWriter, written_format
from limbeck.runtime.entries import Entry, InputFormat, Table, Wanted, detect_format, json_entries, line_entries
from limbeck.runtime.lines import Lines, Source, opened
from limbeck.runtime.row import Row

StreamFormat = Literal["auto"] | InputFormat


class Predicts(Protocol):
    """All a stream asks of a classifier."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def facts(self) -> ModelFacts: ...
    def predict_proba(self, rows: list[Row]) -> npt.NDArray[np.float32]: ...


def predict_stream(
    classifier: Predicts,
    source: Source,
    sink: TextIO,
    *,
    format: StreamFormat = "auto",
    text: str | int | None = None,
    pair: str | int | None = None,
    trained: Mapping[str, str] | None = None,
    header: bool = True,
    output: OutputFormat = "same",
    encoding: str = "utf-8",
    chunk_rows: int = 1024,
    watch: Callable[[int], None] = lambda _: None,
) -> int:
    """Write every row of the source with its prediction to the sink; the number of rows.

    What is written for which format stands at `Answers`; JSON lines do not become a table. "auto" goes by the ending
    of a path, and for a stream by its first line: JSON objects are jsonl; if `text` or `pair` names a column, a table;
    plain lines otherwise. Columns left out are `text` and `pair`, or what `trained` calls them, or the only ones there
    are. A file without header
    has numbers from 0 for column names. The sink is flushed after each chunk: when `chunk_rows` rows are there, or
    earlier when the source is a pipe or terminal that has nothing more to give for the moment. `watch` is told the
    rows of each.
    """
    wanted = Wanted(text=text, pair=pair, is_pair=classifier.facts.pair, trained=trained or {})
    if pair is not None and not wanted.is_pair:
        raise NothingToPredict(reason="the model reads one text per row, not two", advice="Leave `--pair` out.")
    with opened(source, encoding=encoding) as lines:
        if format == "auto":
            format = detect_format(lines, columns_named=text is not None or pair is not None)
        delimiter, columns, entries = _read(lines, wanted, format=format, header=header)
        answers = PredictionWriter(
            classifier.labels,
            format=written_format(format, output),
            multi_label=classifier.facts.multi_label,
            delimiter=delimiter,
        )
        sink.write(answers.heading(columns))
        total = 0
        for chunk in _chunks(entries, lines, most=chunk_rows):
            _answer(classifier, answers, chunk, sink)
            watch(len(chunk))
            total += len(chunk)
        return total


def _read(
    lines: Lines, wanted: Wanted, *, format: InputFormat, header: bool
) -> tuple[str, Sequence[str], Iterator[Entry]]:
    """What a csv file has between its cells; the names that stand above the rows in a table, if any do; the rows."""
    match format:
        case "jsonl":
            return ",", (), json_entries(lines, wanted)
        case "lines":
            return ",", ("text", "pair")[: 1 + wanted.is_pair], line_entries(lines, wanted)
        case "csv" | "tsv":
            table = Table(lines, wanted, format=format, header=header)
            return table.delimiter, table.columns if header else (), table.entries()
        case _:
            assert_never(format)


def _answer(classifier: Predicts, answers: PredictionWriter, chunk: list[Entry], sink: TextIO) -> None:
    probabilities = classifier.predict_proba([entry.row for entry in chunk])
    sink.writelines(answers.lines(chunk, probabilities))
    sink.flush()


def _chunks(entries: Iterator[Entry], lines: Lines, *, most: int) -> Iterator[list[Entry]]:
    chunk: list[Entry] = []
    for entry in entries:
        chunk.append(entry)
        if len(chunk) >= most or lines.drained:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
