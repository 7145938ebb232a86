"""Writing rows with their predictions: as the table, the JSON lines or the plain lines they came as, or as another."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt

from limbeck.errors import NothingToPredict
from limbeck.runtime.entries import ENDINGS, NOT_STREAMED, Entry, InputFormat, ending_of
from limbeck.runtime.lines import LONE_SURROGATE
from limbeck.runtime.probabilities import best_labels, label_sets

OutputFormat = Literal["same", "csv", "tsv", "jsonl"]  # "same": as the input

DIGITS = 6
BETWEEN_LABELS = "|"  # as corpora have it unless their recipe says otherwise


def output_format(path: Path) -> OutputFormat:
    """What a file to write asks for by its ending; .txt, and an ending that says nothing, takes what the input is."""
    ending = ending_of(path)
    if ending in NOT_STREAMED:
        advice = "Name the output .csv, .tsv or .jsonl, maybe with .gz behind it."
        raise NothingToPredict(reason=f"'{path}': predict does not write {ending} files", advice=advice)
    format = ENDINGS.get(ending, "lines")
    return "same" if format == "lines" else format


def written_format(read: InputFormat, asked: OutputFormat) -> InputFormat:
    """The format in which rows come out that came in as `read`. Raises for JSON lines that are to be a table."""
    if asked == "same":
        return read
    if read == "jsonl" and asked != "jsonl":
        raise NothingToPredict(
            reason=f"JSON lines cannot be written as {asked}: each may have other keys, and lists among its values",
            advice="Write JSON lines: name the output .jsonl.",
        )
    return asked


class PredictionWriter:
    """Turns entries and their probabilities into lines of output.

    csv, tsv: the columns that were there, then `label` and a `probability_<class>` for each class; in csv with the
    `delimiter` between them.
    jsonl: the object that was there, with "label" and "probabilities" {class: probability}.
    lines: label, its probability and the text, with tabs between; the text comes last, tabs and all.
    Plain lines that become a table have the columns `text` and, for pairs, `pair`.
    Where a row may have several labels, they stand in `label` with | between them, in jsonl as a list; the probability
    in plain lines is that of the least probable one, or, where no label applies, that of the most probable.
    A column or key that is already called so is never overwritten: the new one is then `predicted_label` and so on.
    """

    def __init__(
        self, labels: Sequence[str], *, format: InputFormat, multi_label: bool = False, delimiter: str = ","
    ) -> None:
        self._labels, self._format, self._multi_label = labels, format, multi_label
        self._csv = csv.writer(_HandedBack(), delimiter=delimiter, lineterminator="\n")

    def heading(self, columns: Sequence[str]) -> str:
        """The line of column names; nothing where there are none, or where each row carries its own."""
        if not columns or self._format in ("jsonl", "lines"):
            return ""
        added = [_free("label", columns), *(_free(f"probability_{label}", columns) for label in self._labels)]
        return self._delimited([*columns, *added])

    def lines(self, entries: Sequence[Entry], probabilities: npt.NDArray[np.float32]) -> Iterator[str]:
        """A row of output for each entry, with its line end."""
        said = (
            label_sets(probabilities, self._labels)
            if self._multi_label
            else [[label] for label in best_labels(probabilities, self._labels)]
        )
        for entry, labels, of_row in zip(entries, said, probabilities.tolist(), strict=True):
            yield self._line(entry, labels, of_row)

    def _line(self, entry: Entry, said: list[str], probabilities: list[float]) -> str:
        label = BETWEEN_LABELS.join(said)
        match self._format:
            case "jsonl":
                by_class = {name: round(value, DIGITS) for name, value in zip(self._labels, probabilities, strict=True)}
                return _json_line(entry, {"label": said if self._multi_label else label, "probabilities": by_class})
            case "lines":
                of_said = (probabilities[self._labels.index(one)] for one in said)
                return "\t".join([label, _digits(min(of_said, default=max(probabilities))), *entry.values]) + "\n"
            case "csv" | "tsv":
                return self._delimited([*entry.values, label, *map(_digits, probabilities)])
            case _:
                assert_never(self._format)

    def _delimited(self, fields: Sequence[str]) -> str:
        if self._format == "tsv":
            return _tab_separated(fields)
        line: str = self._csv.writerow(fields)  # what the file's `write` returns
        return line


class _HandedBack:
    """A file for csv.writer that hands each line back to whoever writes it."""

    def write(self, line: str) -> str:
        return line


_JSON = json.JSONEncoder(ensure_ascii=False)


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


def _json_line(entry: Entry, added: dict[str, object]) -> str:
    fields = dict(zip(entry.columns, entry.values, strict=True))
    fields |= {_free(name, entry.columns): value for name, value in added.items()}
    line = _JSON.encode(fields)
    # Half a character, which JSON can escape and UTF-8 cannot hold: escape it again.
    has_half = not line.isascii() and LONE_SURROGATE.search(line)
    return (json.dumps(fields) if has_half else line) + "\n"


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"predicted_{name}"
    return name


def _digits(probability: float) -> str:
    return f"{probability:.{DIGITS}f}"
