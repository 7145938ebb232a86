"""Predicting a stream: rows in, the same rows with labels and probabilities out, in constant memory."""

from collections.abc import Callable
from typing import BinaryIO, Protocol, TextIO, cast

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import NothingToPredict
from limbeck.runtime.answers import OutputFormat, ParquetAnswers, PredictionWriter, TextAnswers, written_format
from limbeck.runtime.cascade import CascadeAnswers, CascadeClassifier
from limbeck.runtime.entries import Trained, Wanted, opened_rows
from limbeck.runtime.row import Row
from limbeck.runtime.score_answers import ParquetScores, ScoreLines
from limbeck.tables.formats import Column, FileFormat
from limbeck.tables.opening import Source


class Predicts(Protocol):
    """All a stream asks of a classifier."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def facts(self) -> ModelFacts: ...
    def predict_proba(self, rows: list[Row]) -> npt.NDArray[np.float32]: ...
    def scores(self, rows: list[Row]) -> npt.NDArray[np.float64]: ...


def predict_stream(
    classifier: Predicts | CascadeClassifier,
    source: Source,
    sink: TextIO | BinaryIO,
    *,
    format: FileFormat = "auto",
    text: Column | None = None,
    pair: Column | None = None,
    trained: Trained | None = None,
    header: bool | None = None,
    quoting: bool | None = None,
    output: OutputFormat = "same",
    encoding: str = "utf-8",
    chunk_rows: int = 1024,
    watch: Callable[[int], None] = lambda _: None,
    watch_answers: Callable[[CascadeAnswers], None] = lambda _: None,
) -> int:
    """Write every row of the source with its prediction to the sink, of bytes for parquet; the number of rows.

    What is written for which format is described at `PredictionWriter` and `ParquetAnswers`; JSON does not become csv
    or tsv. "auto" goes by the ending of a path, else by the first lines: JSON objects are jsonl; if `text` or `pair`
    names a column, a table; plain lines otherwise. Columns that are not given are `text` and `pair`, or what `trained`
    calls them, or the only ones there are; `header` and `quoting` are those of training too. A file without header has
    numbers from 0 for column names. The sink is flushed after each chunk: when `chunk_rows` rows are there, or
    earlier when the source is a pipe or terminal that has nothing more to give for the moment. `watch` is called with
    the rows of each, and of a cascade `watch_answers` with its answers.
    """
    wanted = Wanted(text=text, pair=pair, is_pair=classifier.facts.pair, trained=trained or Trained())
    if pair is not None and not wanted.is_pair:
        raise NothingToPredict(reason="the model reads one text per row, not two", advice="Leave `--pair` out.")
    with opened_rows(source, wanted, format=format, header=header, quoting=quoting, encoding=encoding) as rows:
        written, multi_label = written_format(rows.format, output), classifier.facts.multi_label
        is_cascade, is_score = isinstance(classifier, CascadeClassifier), not classifier.facts.task.has_classes
        answers: TextAnswers | ParquetAnswers
        if is_score and written == "parquet":
            answers = ParquetScores(classifier.labels, cast(BinaryIO, sink), multi_label=False, heading=rows.heading)
        elif is_score and written != "parquet":
            scored = ScoreLines(format=written, delimiter=rows.delimiter)
            answers = TextAnswers(scored, cast(TextIO, sink), heading=rows.heading)
        elif written == "parquet":
            answers = ParquetAnswers(
                classifier.labels,
                cast(BinaryIO, sink),
                multi_label=multi_label,
                heading=rows.heading,
                is_cascade=is_cascade,
            )
        else:
            lines = PredictionWriter(
                classifier.labels,
                format=written,
                multi_label=multi_label,
                delimiter=rows.delimiter,
                is_cascade=is_cascade,
            )
            answers = TextAnswers(lines, cast(TextIO, sink), heading=rows.heading)
        total = 0
        for chunk in rows.chunks(chunk_rows):
            if isinstance(classifier, CascadeClassifier):
                given = classifier.answers(chunk.rows)
                answers.write(chunk, given.probabilities, given.answered_by)
                watch_answers(given)
            elif is_score:
                answers.write(chunk, classifier.scores(chunk.rows)[:, np.newaxis])
            else:
                answers.write(chunk, classifier.predict_proba(chunk.rows))
            watch(len(chunk.rows))
            total += len(chunk.rows)
        answers.close()
        return total
