"""The values of a column that parts the judged rows in the report, such as their source."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from limbeck.artifacts.corpus import SPLITS
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables import TableForm
from limbeck.tables.raw_table import find_column
from limbeck.tables.table import open_table, slice_value


def slice_values(section: CorpusSection, ids: Sequence[str]) -> Mapping[str, str]:
    """By row id, without rows whose cell is empty; nothing if the recipe names no column.

    An id holds the split of the file that a row was read from, and its place there. Raises if such a file does not have
    the column.
    """
    if section.slice is None:
        return {}
    wanted: dict[str, dict[int, str]] = {}
    for row_id in ids:
        split, _, number = row_id.rpartition("-")
        wanted.setdefault(split, {})[int(number)] = row_id
    paths = {split: Path(path) for split in SPLITS if (path := getattr(section, split))}
    found: dict[str, str] = {}
    for split, rows in wanted.items():
        table = open_table(paths[split], form=TableForm.of(section))
        column = find_column(table, section.slice, key="slice")
        for place, (_, cells) in enumerate(table.rows([column])):
            if place in rows and (value := slice_value(cells[0])):
                found[rows[place]] = value
    return found
