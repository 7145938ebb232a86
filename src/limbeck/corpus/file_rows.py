"""Reads the labelled rows of a table; the recipe says how its labels are written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from limbeck.corpus.labelled import LabelledRows, RowValues, labelled_rows
from limbeck.errors import DataError, FileEmpty, FileUnreadable
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables import TableForm
from limbeck.tables.label_cells import LabelReader
from limbeck.tables.raw_table import RawTable, Watch, find_column, unwatched
from limbeck.tables.table import is_empty, open_table, plain_text

MOST_DROPPED = 0.5  # share of the rows that may lack a text or a label
ENOUGH_LABELLED = 50  # rows with a label, beside which any number may have none: they are still to be labelled


class RowsMostlyEmpty(DataError):
    """Most rows of a file have no text, or no label: probably the wrong column."""

    def __init__(self, *, path: Path, what: str, dropped: str, rows: int, first: int) -> None:
        self.rows, self.first = rows, first
        super().__init__(
            f"most rows of '{path}' have no {what}: {dropped}, of {rows:,} rows",
            found=f"the first of them is row {first:,}",
            advice=f"Check that `{what}` names the right column, and that the file is read as it was written "
            "(header, quoting, delimiter); or remove those rows.",
        )


@dataclass
class Dropped:
    """How many rows of a file were dropped because a cell was empty."""

    without_text: int = 0
    without_label: int = 0
    first: int = 0  # the number of the first such row

    @property
    def rows(self) -> int:
        """All together."""
        return self.without_text + self.without_label

    def count(self, number: int, *, text: bool) -> None:
        """Count row `number`, which has no text, or else no label."""
        self.first = self.first or number
        self.without_text += text
        self.without_label += not text

    def in_words(self) -> str:
        """For example "3 without text and 1 without label"."""
        counts = {"text": self.without_text, "label": self.without_label}
        return " and ".join(f"{count:,} without {what}" for what, count in counts.items() if count)


def read_file(
    section: CorpusSection, path: Path, *, split: str, watch: Watch = unwatched
) -> tuple[LabelledRows, LabelReader, Dropped]:
    """All rows of the file of the split `split`, the reader of their labels, which knows the label columns, and which
    rows were dropped because text or label is empty, null or missing.

    A row with another structure than the first is an error that gives the row's number. So are a file without rows,
    and one of which most rows would be dropped.
    """
    table = open_table(path, form=TableForm.of(section), watch=watch)
    labels = label_positions(section, table)
    reader, dropped = LabelReader(section, path=path, columns=[table.columns[at] for at in labels]), Dropped()
    values = row_values(section, table, labels, reader, dropped)
    rows = labelled_rows(values, split=split, is_pair=section.pair is not None)
    refuse_mostly_empty(dropped, kept=len(rows), path=path)
    if not len(rows):
        raise FileEmpty(path=path)
    return rows, reader, dropped


def refuse_mostly_empty(dropped: Dropped, *, kept: int, path: Path) -> None:
    """Raises RowsMostlyEmpty if more rows were dropped than the share MOST_DROPPED. Rows without a label count only if
    there are not ENOUGH_LABELLED."""
    counted = dropped.without_text if kept >= ENOUGH_LABELLED else dropped.rows
    if counted > MOST_DROPPED * (kept + counted):
        what = "label" if dropped.without_label >= dropped.without_text else "text"
        rows = kept + dropped.rows
        raise RowsMostlyEmpty(path=path, what=what, dropped=dropped.in_words(), rows=rows, first=dropped.first)


def label_positions(section: CorpusSection, table: RawTable) -> list[int]:
    """The position of the label column, or of each of several; raises FileUnreadable if one is named twice."""
    columns = section.label if isinstance(section.label, list) else [section.label]
    positions = [find_column(table, column, key="label") for column in columns]
    for place, at in enumerate(positions):
        if at in positions[:place]:
            reason = f"`label` names the column '{table.columns[at]}' twice"
            advice = "Name each column once in `label`: every column is a class."
            raise FileUnreadable(path=table.path, kind="labelled rows", reason=reason, advice=advice)
    return positions


def row_values(
    section: CorpusSection, table: RawTable, labels: Sequence[int], reader: LabelReader, dropped: Dropped
) -> Iterator[RowValues | None]:
    """The rows of a table; `labels` are the positions of its label columns.

    None for a row that is dropped, and counted: its text, for a pair both texts, or its label is empty. A row that may
    have several labels may have none.
    """
    needs_label = isinstance(section.label, list) or not section.multi_label
    texts = {"text": find_column(table, section.text, key="text")}
    if section.pair is not None:
        texts["pair"] = find_column(table, section.pair, key="pair")
    keys, path = list(texts), table.path
    for number, cells in table.rows([*texts.values(), *labels]):
        if all(is_empty(cell) for cell in cells[: len(keys)]):
            dropped.count(number, text=True)
            yield None
            continue
        if needs_label and all(is_empty(cell) for cell in cells[len(keys) :]):
            dropped.count(number, text=False)
            yield None
            continue
        text, *pair = [
            "" if is_empty(cell) else plain_text(cell, key=key, path=path, number=number)
            for key, cell in zip(keys, cells, strict=False)  # the label cells come after them
        ]
        yield (text, *pair, reader.read(cells[len(keys) :], number=number))
