"""Reads the labelled rows of a table; the recipe says how its labels are written."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from limbeck.corpus.label_cells import LabelReader
from limbeck.corpus.labelled import LabelledRows, RowValues, labelled_rows
from limbeck.errors import FileEmpty, FileUnreadable
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables import TableForm
from limbeck.tables.raw_table import RawTable, Watch, find_column, unwatched
from limbeck.tables.table import open_table, plain_text


def read_file(
    section: CorpusSection, path: Path, *, split: str, watch: Watch = unwatched
) -> tuple[LabelledRows, LabelReader]:
    """All rows of the file of the split `split`, and the reader of their labels, which knows the label columns.

    A null, a missing value, or a row with another structure than the first is an error that gives the row's number.
    A file without rows is an error too.
    """
    table = open_table(path, form=TableForm.of(section), watch=watch)
    labels = label_positions(section, table)
    reader = LabelReader(section, path=path, columns=[table.columns[at] for at in labels])
    rows = labelled_rows(row_values(section, table, labels, reader), split=split, is_pair=section.pair is not None)
    if not len(rows):
        raise FileEmpty(path=path)
    return rows, reader


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
    section: CorpusSection, table: RawTable, labels: Sequence[int], reader: LabelReader
) -> Iterator[RowValues]:
    """The rows of a table; `labels` are the positions of its label columns."""
    texts = {"text": find_column(table, section.text, key="text")}
    if section.pair is not None:
        texts["pair"] = find_column(table, section.pair, key="pair")
    keys, path = list(texts), table.path
    for number, cells in table.rows([*texts.values(), *labels]):
        text, *pair = [
            cell if isinstance(cell, str) else plain_text(cell, key=key, path=path, number=number)
            for key, cell in zip(keys, cells, strict=False)  # the label cells come after them
        ]
        yield (text, *pair, reader.read(cells[len(keys) :], number=number))
