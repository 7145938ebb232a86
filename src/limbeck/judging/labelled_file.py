"""A labelled file to judge a model on: which of its columns are text and label, and its rows chunk by chunk."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import ColumnMissing, DataError, FileEmpty, NothingToPredict, some
from limbeck.runtime.entries import Trained, Wanted
from limbeck.runtime.row import Row
from limbeck.tables.formats import Column, FileFormat, Quoting, TableForm
from limbeck.tables.label_cells import LabelReader, LabelSet, as_label_set
from limbeck.tables.raw_table import NumberedCells, RawTable, find_column_as_text
from limbeck.tables.table import is_empty, open_table, plain_text, slice_value

PEEKED_ROWS = 256  # by which the label column is found, if nothing names it
LEAST_SHARE = 0.5  # of the peeked cells are classes of the model in the label column
SEPARATORS = ("|", ";", ",")
ROLES = ("text", "pair")


@dataclass(frozen=True)
class FileForm:
    """What the user says about a labelled file; None: as in training, or else as it looks."""

    text: Column | None = None
    pair: Column | None = None
    label: Column | None = None
    label_names: Mapping[str, str] = field(default_factory=dict)
    format: FileFormat | None = None
    header: bool | None = None
    quoting: bool | None = None
    encoding: str | None = None
    slice: Column | None = None  # whose values part the rows; None: no column does


@dataclass(frozen=True)
class LabelForm:
    """How the labels of a file are written; the fields mean what they mean in the recipe."""

    label: Column | list[Column]
    multi_label: bool
    label_separator: str
    is_score: bool = False


class LabelColumnUnclear(DataError):
    """Nothing says which column of a file holds the labels."""

    def __init__(self, *, path: Path, columns: Sequence[str], classes: Sequence[str], predicted: str) -> None:
        answers = f"\n'{predicted}' has the answers of `limbeck predict`" if predicted else ""
        super().__init__(
            f"cannot tell which column of '{path}' is the label",
            found=f"its columns: {some(columns, most=8)}; the model's classes: {some(classes, most=5)}{answers}",
            advice="Name the column of true labels: --label COLUMN. Without labels there is only `limbeck predict`.",
        )


@dataclass(frozen=True)
class LabelledChunk:
    """Rows that are judged together; labels by the names of the model's classes, where it has them."""

    numbers: list[int]  # of the rows in the file, as in messages
    rows: list[Row]
    labels: list[LabelSet]
    groups: list[str] | None = None  # values of the column that parts the rows; empty where a cell is

    def at(self, places: Sequence[int]) -> "LabelledChunk":
        """Some of the rows."""
        numbers, rows, labels, groups = self.numbers, self.rows, self.labels, self.groups
        return LabelledChunk(
            [numbers[at] for at in places],
            [rows[at] for at in places],
            [labels[at] for at in places],
            None if groups is None else [groups[at] for at in places],
        )


class LabelledFile:
    """An opened file of labelled rows. Rows without a text or a label are left out, and counted while it is read."""

    def __init__(self, table: RawTable, *, facts: ModelFacts, form: FileForm, keys: Mapping[str, Any]) -> None:
        """`keys` is `[corpus]` of the recipe of the model's run. Raises where a column cannot be found."""
        cells = table.rows(range(len(table.columns)))
        peeked = list(islice(cells, PEEKED_ROWS))
        if not peeked:
            raise FileEmpty(path=table.path)
        self.path, self._cells = table.path, chain(peeked, cells)
        self._names = {**_texts(keys.get("label_names")), **form.label_names}
        self._classes = set(facts.labels) if facts.task.has_classes else set[str]()
        columns = _Columns(table, facts=facts, form=form, keys=keys, peeked=peeked, names=self._names)
        self._label_at, self._text_at = columns.label, columns.text
        of_run = keys.get("slice")
        slice_by = form.slice if form.slice is not None or of_run not in table.columns else of_run
        self.slice_column = None if slice_by is None else find_column_as_text(table, slice_by, key="--slice")
        self.label_columns = [table.columns[at] for at in self._label_at]
        self.text_columns = [table.columns[at] for at in self._text_at]
        self._needs_label = columns.has_class_columns or not facts.multi_label
        said = LabelForm(
            label=list[Column](self.label_columns) if columns.has_class_columns else self.label_columns[0],
            multi_label=facts.multi_label,
            label_separator=columns.separator,
            is_score=not facts.task.has_classes,
        )
        self._reader = LabelReader(said, path=table.path, columns=self.label_columns)
        self.without_text = self.without_label = 0

    def chunks(self, most: int) -> Iterator[LabelledChunk]:
        """All rows with text and label, at most so many at a time. Can be called once."""
        rows = self._rows()
        while part := list(islice(rows, most)):
            numbers, texts, labels, groups = zip(*part, strict=True)
            has_groups = self.slice_column is not None
            yield LabelledChunk(list(numbers), list(texts), list(labels), list(groups) if has_groups else None)

    def _rows(self) -> Iterator[tuple[int, Row, LabelSet, str]]:
        for number, cells in self._cells:
            texts, labels = [cells[at] for at in self._text_at], [cells[at] for at in self._label_at]
            if all(map(is_empty, texts)):
                self.without_text += 1
            elif self._needs_label and all(map(is_empty, labels)):
                self.without_label += 1
            else:
                found = self._reader.read([None if is_empty(cell) else cell for cell in labels], number=number)
                yield number, self._row(texts, number=number), self._named(found), self._group(cells)

    def _group(self, cells: Sequence[object]) -> str:
        return "" if self.slice_column is None else slice_value(cells[self.slice_column])

    def _row(self, cells: Sequence[object], *, number: int) -> Row:
        texts = [
            "" if is_empty(cell) else plain_text(cell, key=role, path=self.path, number=number)
            for role, cell in zip(ROLES, cells, strict=False)
        ]
        return texts[0] if len(texts) == 1 else (texts[0], texts[1])

    def _named(self, found: str | LabelSet) -> LabelSet:
        """By the names that the recipe or the user gives; a cell that holds a class's name already keeps it."""
        if isinstance(found, str) and not self._classes:
            return (found,)
        raw = (found,) if isinstance(found, str) else found
        return as_label_set(one if one in self._classes else self._names.get(one, one) for one in raw)


class _Columns:
    """The positions of the columns, and what is between several labels."""

    def __init__(
        self,
        table: RawTable,
        *,
        facts: ModelFacts,
        form: FileForm,
        keys: Mapping[str, Any],
        peeked: Sequence[NumberedCells],
        names: Mapping[str, str],
    ) -> None:
        self._table, self._facts, self._form, self._keys = table, facts, form, keys
        self._rows = [cells for _, cells in peeked]
        self._known = {name.casefold() for name in (*facts.labels, *names)}  # to guess by: another case may be a typo
        said = keys.get("label_separator")
        self._separators = (said, *SEPARATORS) if isinstance(said, str) and said else SEPARATORS
        self.has_class_columns = False  # one column for each class
        self.label = self._label()
        self.separator = self._separator()
        self.text = self._text()

    def _label(self) -> list[int]:
        table, columns = self._table, list(self._table.columns)
        if self._form.label is not None:
            return [find_column_as_text(table, self._form.label, key="--label")]
        predicted = _written_by_predict(columns, self._facts.labels)
        if (trained := self._trained_label()) and predicted not in trained:
            self.has_class_columns = isinstance(self._keys["label"], list)
            return trained
        if "label" in columns and columns.index("label") != predicted:
            return [columns.index("label")]
        shares = {at: self._share_of_classes(at) for at in range(len(columns)) if at != predicted}
        likely = [at for at, share in shares.items() if share >= LEAST_SHARE]
        if len(likely) == 1:
            return likely
        if not likely and set(self._facts.labels) <= set(columns):
            self.has_class_columns = True
            return [columns.index(label) for label in self._facts.labels]
        raise LabelColumnUnclear(
            path=table.path,
            columns=columns,
            classes=self._facts.labels,
            predicted="" if predicted is None else columns[predicted],
        )

    def _trained_label(self) -> list[int]:
        """The columns of the recipe, if the file has them all."""
        said, columns = self._keys.get("label"), list(self._table.columns)
        wanted = said if isinstance(said, list) else [said]
        found = [
            columns.index(one) if one in columns else one
            for one in wanted
            if one in columns or (type(one) is int and 0 <= one < len(columns) and not self._table.is_named)
        ]
        return found if len(found) == len(wanted) else []

    def _share_of_classes(self, at: int) -> float:
        """How many of the cells that are not empty hold nothing but classes of the model; or numbers, if it gives
        scores."""
        cells = [row[at] for row in self._rows if not is_empty(row[at])]
        if not self._facts.task.has_classes:
            return sum(map(_is_number, cells)) / max(len(cells), 1)
        return sum(self._holds_classes(cell, self._separators) for cell in cells) / max(len(cells), 1)

    def _holds_classes(self, cell: object, separators: Sequence[str], *, least: int = 1) -> bool:
        items = cell if isinstance(cell, list) else [cell]
        texts = [str(item).strip().casefold() for item in items]
        if len(texts) == 1 and self._facts.multi_label:
            cut = [as_label_set(texts[0].split(sign)) for sign in separators]
            return any(len(one) >= least and self._known.issuperset(one) for one in cut)
        return len(texts) >= least and self._known.issuperset(texts)

    def _separator(self) -> str:
        """What is between the labels of a row: what the recipe says, unless only another sign gives classes."""
        at = self.label[0]
        cells = [row[at] for row in self._rows if isinstance(row[at], str)] if self._facts.multi_label else []
        for sign in self._separators:
            if any(self._holds_classes(cell, (sign,), least=2) for cell in cells):
                return sign
        return self._separators[0]

    def _text(self) -> tuple[int, ...]:
        """As `limbeck predict` finds them; else the only columns that are left."""
        table, form, is_pair = self._table, self._form, self._facts.pair
        trained = Trained(text=self._keys.get("text"), pair=self._keys.get("pair"))
        wanted = Wanted(text=form.text, pair=form.pair, is_pair=is_pair, trained=trained)
        rest = tuple(at for at in range(len(table.columns)) if at not in self.label)
        roles = ROLES[: 1 + is_pair]
        try:
            found = wanted.among(table)
        except ColumnMissing:
            if wanted.names_columns or len(rest) != len(roles):
                raise
            found = rest
        if set(found) & set(self.label):
            label = table.columns[self.label[0]]
            raise NothingToPredict(
                reason=f"'{table.path}': '{label}' would be both text and label",
                advice="Name both columns: --text COLUMN --label COLUMN.",
            )
        return found


def _is_number(cell: object) -> bool:
    try:
        return math.isfinite(float(str(cell)))
    except ValueError:
        return False


def _written_by_predict(columns: Sequence[str], classes: Sequence[str]) -> int | None:
    """The column of answers in a file that `limbeck predict` has written: the one before the probabilities.

    Those are an object in JSON lines, and a column for each class elsewhere.
    """
    for first in (f"probability_{classes[0]}", "probabilities"):
        if first in columns:
            return columns.index(first) - 1
    return None


def _texts(table: object) -> dict[str, str]:
    """A table of texts in a recipe, which nobody has checked here."""
    return {str(key): str(value) for key, value in table.items()} if isinstance(table, dict) else {}


@contextmanager
def opened_labelled(
    path: Path, *, facts: ModelFacts, form: FileForm, keys: Mapping[str, Any]
) -> Iterator[LabelledFile]:
    """The labelled rows of a file, read as in training."""
    if form.pair is not None and not facts.pair:
        raise NothingToPredict(reason="the model reads one text per row, not two", advice="Leave `--pair` out.")
    table = open_table(path, form=_table_form(form, keys), otherwise="table")
    try:
        if table.format == "lines":
            raise NothingToPredict(
                reason=f"'{path}' is read as plain lines, which have no labels",
                advice="Give a table with a column of labels: csv, tsv, JSON lines or parquet.",
            )
        yield LabelledFile(table, facts=facts, form=form, keys=keys)
    finally:
        table.close()


def _table_form(form: FileForm, keys: Mapping[str, Any]) -> TableForm:
    """What the user says, else what the recipe says, else what most files are. The format of the file in training does
    not count: this one may have another, by its name."""
    header, encoding = keys.get("header"), keys.get("encoding")
    quoting: Quoting = keys["quoting"] if isinstance(keys.get("quoting"), bool) else "auto"
    return TableForm(
        format=form.format or "auto",
        header=form.header if form.header is not None else header is not False,
        quoting=form.quoting if form.quoting is not None else quoting,
        encoding=form.encoding or (encoding if isinstance(encoding, str) else "utf-8"),
        by_options=True,
    )
