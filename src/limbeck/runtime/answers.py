"""Writing rows with their predictions: as the table, the JSON lines or the plain lines they came as."""

import csv
import io
import json
from collections.abc import Sequence
from typing import assert_never

import numpy as np
import numpy.typing as npt

from limbeck.runtime.entries import Entry, InputFormat
from limbeck.runtime.lines import LONE_SURROGATE
from limbeck.runtime.probabilities import best_labels, label_sets

DIGITS = 6
BETWEEN_LABELS = "|"  # as corpora have it unless their recipe says otherwise


class Answers:
    """Turns entries and their probabilities into lines of output.

    csv, tsv: the columns that were there, then `label` and a `probability_<class>` for each class.
    jsonl: the object that was there, with "label" and "probabilities" {class: probability}.
    lines: label, its probability and the text, with tabs between; the text comes last, tabs and all.
    Where a row may have several labels, they stand in `label` with | between them, in jsonl as a list; the probability
    in plain lines is that of the least probable one, or, where no label applies, that of the most probable.
    A column or key that is already called so is never overwritten: the new one is then `predicted_label` and so on.
    """

    def __init__(self, labels: Sequence[str], *, format: InputFormat, multi_label: bool = False) -> None:
        self._labels, self._format, self._multi_label = labels, format, multi_label

    def heading(self, columns: Sequence[str]) -> str:
        """The line of column names; nothing where there are none, or where each row carries its own."""
        if not columns or self._format == "jsonl":
            return ""
        added = [_free("label", columns), *(_free(f"probability_{label}", columns) for label in self._labels)]
        return self._delimited([*columns, *added])

    def line(self, entry: Entry, probabilities: npt.NDArray[np.float32]) -> str:
        """One row of output, with its line end."""
        said = self._said(probabilities)
        label = BETWEEN_LABELS.join(said)
        match self._format:
            case "jsonl":
                by_class = {name: _rounded(value) for name, value in zip(self._labels, probabilities, strict=True)}
                return _json_line(entry, {"label": said if self._multi_label else label, "probabilities": by_class})
            case "lines":
                probability = min((probabilities[self._labels.index(one)] for one in said), default=probabilities.max())
                return "\t".join([label, _digits(probability), *entry.values]) + "\n"
            case "csv" | "tsv":
                return self._delimited([*entry.values, label, *map(_digits, probabilities)])
            case _:
                assert_never(self._format)

    def _said(self, probabilities: npt.NDArray[np.float32]) -> list[str]:
        one_row = probabilities[np.newaxis]
        return label_sets(one_row, self._labels)[0] if self._multi_label else best_labels(one_row, self._labels)

    def _delimited(self, fields: Sequence[str]) -> str:
        if self._format == "tsv":
            return "\t".join(fields) + "\n"
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(fields)
        return line.getvalue()


def _json_line(entry: Entry, added: dict[str, object]) -> str:
    fields = dict(zip(entry.columns, entry.values, strict=True))
    fields |= {_free(name, entry.columns): value for name, value in added.items()}
    line = json.dumps(fields, ensure_ascii=False)
    # Half a character, which JSON can escape and UTF-8 cannot hold: escape it again.
    return (json.dumps(fields) if LONE_SURROGATE.search(line) else line) + "\n"


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"predicted_{name}"
    return name


def _rounded(probability: np.float32) -> float:
    return round(float(probability), DIGITS)


def _digits(probability: np.float32) -> str:
    return f"{probability:.{DIGITS}f}"
