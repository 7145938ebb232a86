"""Predicting a stream: rows in, the same rows with labels and probabilities out, in constant memory."""

from collections.abc import Callable
from typing import Any, BinaryIO, Protocol, TextIO, cast

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import NothingToPredict
from limbeck.runtime.abstaining import Scored, scored
from limbeck.runtime.answers import OutputFormat, ParquetAnswers, PredictionWriter, TextAnswers, written_format
from limbeck.runtime.cascade import CascadeAnswers, CascadeClassifier
from limbeck.runtime.entries import InputRows, Trained, Wanted, opened_rows
from limbeck.runtime.probabilities import probabilities_of
from limbeck.runtime.row import Row
from limbeck.runtime.score_answers import ParquetScores, ScoreLines
from limbeck.tables.formats import Column, FileFormat, KnownFormat
from limbeck.tables.opening import Source


class Predicts(Protocol):
    """All a stream asks of a classifier."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def facts(self) -> ModelFacts: ...
    def predict_proba(self, rows: list[Row]) -> npt.NDArray[np.float32]: ...
    def logits(self, rows: list[Row]) -> npt.NDArray[np.float32]: ...
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
        answers = _answers_of(classifier, written_format(rows.format, output), rows, sink)
        total = 0
        for chunk in rows.chunks(chunk_rows):
            if isinstance(classifier, CascadeClassifier):
                given = classifier.answers(chunk.rows)
                answers.write(chunk, given.probabilities, given.answered_by, given.scored)
                watch_answers(given)
            else:
                answers.write(chunk, *answered(classifier, chunk.rows))
            watch(len(chunk.rows))
            total += len(chunk.rows)
        answers.close()
        return total


def _answers_of(
    classifier: Predicts | CascadeClassifier, written: KnownFormat, rows: InputRows, sink: TextIO | BinaryIO
) -> TextAnswers | ParquetAnswers:
    """What writes the answers, in this format."""
    facts, labels = classifier.facts, classifier.labels
    shared = {
        "multi_label": facts.multi_label,
        "is_cascade": isinstance(classifier, CascadeClassifier),
        "abstains": facts.abstain is not None,
    }
    if written == "parquet":
        kind = ParquetAnswers if facts.task.has_classes else ParquetScores
        return kind(labels, cast(BinaryIO, sink), heading=rows.heading, **shared)
    lines = (
        PredictionWriter(labels, format=written, delimiter=rows.delimiter, **shared)
        if facts.task.has_classes
        else ScoreLines(format=written, delimiter=rows.delimiter)
    )
    return TextAnswers(lines, cast(TextIO, sink), heading=rows.heading)


def answered(classifier: Predicts, rows: list[Row]) -> tuple[Any, tuple[str, ...], Scored | None]:
    """Probabilities or scores, whose they are, and how sure a model that abstains is, from the same logits."""
    facts = classifier.facts
    if not facts.task.has_classes:
        return classifier.scores(rows)[:, np.newaxis], (), None
    if facts.abstain is None:
        return classifier.predict_proba(rows), (), None
    logits = classifier.logits(rows)
    return probabilities_of(logits / facts.temperature, multi_label=facts.multi_label), (), scored(logits, facts)
