"""Writing rows with their scores: as the table, the JSON or the plain lines they came as, or as another."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import numpy as np

from limbeck.runtime.answers import (
    DIGITS,
    HandedBack,
    LineFormat,
    ParquetAnswers,
    Probabilities,
    delimited,
    free_name,
    json_line,
)
from limbeck.runtime.entries import Entry
from limbeck.tasks import SCORE


def written_score(score: float) -> str:
    """With few digits, and without zeros at the end: `3.25`."""
    return f"{round(score, DIGITS):.{DIGITS}f}".rstrip("0").rstrip(".")


class ScoreLines:
    """Turns entries and their scores (rows, 1) into lines of output.

    csv, tsv: the columns that were there, then `score`. jsonl: the object that was there, with "score". lines: the
    score and the text, with a tab between. A column or key that is already called so is never overwritten: the new one
    is then `predicted_score`.
    """

    def __init__(self, *, format: LineFormat, delimiter: str = ",") -> None:
        self._format = format
        self._csv = csv.writer(HandedBack(), delimiter=delimiter, lineterminator="\n")

    def heading(self, columns: Sequence[str]) -> str:
        """The line of column names; nothing where there are none, or where each row carries its own."""
        if not columns or self._format in ("jsonl", "lines"):
            return ""
        return self._delimited([*columns, free_name(SCORE, columns)])

    def lines(
        self,
        entries: Sequence[Entry],
        probabilities: Probabilities,
        answered_by: Sequence[str] = (),
        scored: Any = None,
    ) -> Iterator[str]:
        """A row of output for each entry, with its line end; the `probabilities` are the scores."""
        del answered_by, scored  # scores have neither a cascade nor a confidence
        for entry, (score,) in zip(entries, probabilities.tolist(), strict=True):
            yield self._line(entry, score)

    def _line(self, entry: Entry, score: float) -> str:
        match self._format:
            case "jsonl":
                return json_line(entry, {SCORE: round(score, DIGITS)})
            case "lines":
                return "\t".join([written_score(score), *entry.values]) + "\n"
            case "csv" | "tsv":
                return self._delimited([*entry.values, written_score(score)])
            case _:
                assert_never(self._format)

    def _delimited(self, fields: Sequence[Any]) -> str:
        return delimited(fields, is_tsv=self._format == "tsv", writer=self._csv)


class ParquetScores(ParquetAnswers):
    """Writes a parquet file: the columns that were there, and `score`, a float64."""

    def _added(
        self, probabilities: Probabilities, answered_by: Sequence[str], taken: Sequence[str], scored: Any
    ) -> dict[str, Any]:
        del answered_by, scored
        column = np.asarray(probabilities, dtype=np.float64)[:, 0]
        return {free_name(SCORE, taken): self._arrow.array(column, self._arrow.float64())}
