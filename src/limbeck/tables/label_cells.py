"""Reads the label cells of a row: one label, several in one cell, or a value in a column for each class."""

import ast
import json
import math
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from limbeck.errors import RowMalformed
from limbeck.tables.formats import Column
from limbeck.tables.raw_table import ABSENT
from limbeck.tables.table import plain_text

LabelSet = tuple[str, ...]  # each label once, in alphabetical order: equal sets are equal tuples
Label = str | LabelSet

WORDS = {"true": 1.0, "false": 0.0}
MARK_WORDS = {**WORDS, "yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0, "t": 1.0, "f": 0.0}  # with several labels a row
LEAST_VALUE = 0.5  # of a class that a row has, if a row may have several
LONGEST_SHOWN = 40  # characters of a cell in a message


class SaysLabels(Protocol):
    """How labels are written; the fields mean what they mean in the recipe."""

    @property
    def label(self) -> Column | list[Column]: ...
    @property
    def multi_label(self) -> bool: ...
    @property
    def label_separator(self) -> str: ...
    @property
    def is_score(self) -> bool: ...


def as_label_set(labels: Iterable[str]) -> LabelSet:
    """The labels, each once, without white space around them; empty ones are dropped."""
    return tuple(sorted({stripped for label in labels if (stripped := label.strip())}))


class LabelReader:
    """Reads the labels of one file's rows, as the section describes them.

    `columns` are the names of the label columns. `ties` counts the rows in which several class columns have the same
    largest value, so that the first of them was taken.
    """

    def __init__(self, section: SaysLabels, *, path: Path, columns: Sequence[str]) -> None:
        self.columns, self.ties = list(columns), 0
        self._path, self._separator = path, section.label_separator
        self._has_columns, self._is_multi_label = isinstance(section.label, list), section.multi_label
        self._is_score = section.is_score

    def read(self, cells: Sequence[object], *, number: int) -> Label:
        """The label of row `number`, or all its labels; raises RowMalformed if the cells cannot be read as labels."""
        if self._is_score:
            return repr(self._score(cells[0], number))
        if self._has_columns:
            values = [self._value(cell, column, number) for cell, column in zip(cells, self.columns, strict=True)]
            return self._marked(values) if self._is_multi_label else self._largest(values)
        if self._is_multi_label:
            return self._several(cells[0], number)
        if isinstance(cells[0], list):
            advice = "Set multi_label = true in [corpus] if a row may have several labels, or none."
            raise RowMalformed(path=self._path, row=number, reason="the label is a list", advice=advice)
        return self._one(cells[0], number)

    def _score(self, cell: Any, number: int) -> float:
        """Labels are texts until classes are known; a score comes as the shortest text that is the same number."""
        try:
            found = float(cell) if not isinstance(cell, bool) else math.nan
        except (TypeError, ValueError, OverflowError):
            found = math.nan
        if math.isfinite(found):
            return found
        advice = (
            'With task = "regression" the label is a number, with a point before its decimals; correct the row, or '
            "remove the task if the labels are classes."
        )
        reason = f"the score is {_shown(cell)}, which is not a number"
        raise RowMalformed(path=self._path, row=number, reason=reason, advice=advice)

    def _one(self, cell: object, number: int) -> str:
        if label := self._text(cell, number).strip():
            return label
        advice = (
            "Give every row a label, or remove the rows without one from the file; "
            "set multi_label = true in [corpus] if a row may have none, or several."
        )
        raise RowMalformed(path=self._path, row=number, reason="the label is empty", advice=advice)

    def _several(self, cell: object, number: int) -> tuple[str, ...]:
        """A null is a cell without labels, like an empty one; the items of a list are not split any further."""
        if cell is None:
            return ()
        if isinstance(cell, str) and (items := written_list(cell)) is not None:
            cell = items
        if not isinstance(cell, list | tuple):
            return as_label_set(self._text(cell, number).split(self._separator))
        if len(cell) > 2 and all(item in (0, 1) for item in cell):  # labels would not repeat
            advice = "A list must hold the names or numbers of a row's classes; put a 0 or 1 for each class in columns."
            raise RowMalformed(path=self._path, row=number, reason="the label is a list of 0 and 1", advice=advice)
        return as_label_set(self._text(item, number) for item in cell)

    def _text(self, cell: object, number: int) -> str:
        return plain_text(cell, key="label", path=self._path, number=number)

    def _marked(self, values: Sequence[float]) -> tuple[str, ...]:
        marked = {column for column, value in zip(self.columns, values, strict=True) if value >= LEAST_VALUE}
        return tuple(sorted(marked))  # a column's name is its class's name, unchanged

    def _largest(self, values: Sequence[float]) -> str:
        largest = max(values)
        self.ties += values.count(largest) > 1
        return self.columns[values.index(largest)]

    def _value(self, cell: Any, column: str, number: int) -> float:
        words = MARK_WORDS if self._is_multi_label else WORDS
        try:
            value = words.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell
            finite = float(value)
        except (TypeError, ValueError, OverflowError):
            finite = math.nan
        if math.isfinite(finite):
            return finite
        allowed = "true and false, or yes and no" if self._is_multi_label else "true and false"
        advice = f"Columns of classes hold numbers, or {allowed}; correct the row, or name other columns in `label`."
        reason = f"the label column '{column}' holds {_shown(cell)}, which is not a number"
        raise RowMalformed(path=self._path, row=number, reason=reason, advice=advice)


def _shown(cell: object) -> str:
    """The cell, shortened for a message."""
    shown = "nothing" if cell is None or cell is ABSENT or cell == "" else repr(cell)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"


Items = tuple[object, ...]
LONGEST_WRITTEN = 10_000  # characters; a longer cell is a text


@lru_cache(maxsize=4096)  # the same few sets of labels recur
def written_list(cell: str) -> Items | None:
    """The items of a JSON list, or of a list as Python prints it; None if the cell is not one."""
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")) or len(text) > LONGEST_WRITTEN:
        return None
    try:
        return tuple(json.loads(text))
    except (ValueError, RecursionError):
        return _printed_by_python(text)


def _printed_by_python(text: str) -> Items | None:
    """Only a list that Python would print the same way: ['a' 'b'], as numpy prints it, would be read as one item."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a backslash that escapes nothing
            items = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(items, list) or "".join(repr(items).split()) != "".join(text.split()):
        return None
    return tuple(items)
