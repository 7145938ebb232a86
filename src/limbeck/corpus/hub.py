"""The labelled rows of a data set of the Hugging Face hub."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.corpus.file_rows import Dropped, label_positions, row_values
from limbeck.corpus.labelled import RowValues
from limbeck.errors import FileUnreadable, some
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables.hub import load_data_set
from limbeck.tables.label_cells import LabelReader
from limbeck.tables.raw_table import NumberedCells, RawTable

SPLIT_NAMES = {  # ours: theirs, in order of preference
    "train": ("train",),
    "dev": ("validation", "dev", "valid", "validation_matched"),
    "test": ("test",),
}


@dataclass(frozen=True)
class HubData:
    """The rows of each split, and the class names if the data set has them or each class has a column."""

    splits: dict[str, list[RowValues | None]]  # None: dropped, because it has no text
    class_names: list[str]
    unlabelled: int  # rows dropped because they have no label (-1 or null)
    ties: int  # see LabelReader
    dropped: dict[str, Dropped]


def read_hub(section: CorpusSection) -> HubData:
    """All labelled rows of a data set. A test split without labels (GLUE's are -1) is dropped."""
    assert section.hub is not None, "the caller has checked this"
    loaded = load_data_set(section.hub)
    splits: dict[str, list[RowValues | None]] = {}
    dropped: dict[str, Dropped] = {}
    unlabelled = ties = 0
    class_names: list[str] = []
    for ours, theirs in _present(loaded, name=section.hub).items():
        split = _HubSplit(section, loaded[theirs])
        rows = list(split.rows())
        class_names = class_names or split.class_order
        if ours != "train" or not section.multi_label:
            rows = [] if _means_no_label(rows) else rows
        unlabelled += len(loaded[theirs]) - len(rows)
        ties += split.reader.ties
        if rows:
            splits[ours] = rows
            dropped |= {ours: split.dropped} if split.dropped.rows else {}
    return HubData(splits=splits, class_names=class_names, unlabelled=unlabelled, ties=ties, dropped=dropped)


class _HubSplit:
    """A split of a data set, read as a table like those of files."""

    def __init__(self, section: CorpusSection, split: Any) -> None:
        self._section, self._split = section, split
        columns: Sequence[str] = split.column_names
        self._table = RawTable(path=Path(str(section.hub)), columns=columns, is_named=True, rows=self._cells)
        self._labels = label_positions(section, self._table)
        names = [columns[at] for at in self._labels]
        self._has_columns = isinstance(section.label, list)
        self._class_names = [] if self._has_columns else _class_names(split.features[names[0]])
        self.class_order = names if self._has_columns else self._class_names
        self.reader, self.dropped = LabelReader(section, path=self._table.path, columns=names), Dropped()

    def rows(self) -> Iterator[RowValues | None]:
        """The rows that have a label."""
        return row_values(self._section, self._table, self._labels, self.reader, self.dropped)

    def _cells(self, positions: Sequence[int]) -> Iterator[NumberedCells]:
        names = [self._table.columns[at] for at in positions]
        first_label = len(names) - len(self._labels)
        for number, row in enumerate(self._split.select_columns(list(dict.fromkeys(names))), start=1):
            labels = [_named(row[name], self._class_names) for name in names[first_label:]]
            if not self._is_unlabelled(labels):
                yield number, (*(row[name] for name in names[:first_label]), *labels)

    def _is_unlabelled(self, cells: Sequence[object]) -> bool:
        if self._has_columns:
            return all(cell is None for cell in cells) or all(cell == -1 for cell in cells)
        is_blank = isinstance(cells[0], str) and not cells[0].strip()
        return cells[0] is None or (is_blank and not self._section.multi_label)


def _means_no_label(rows: Sequence[RowValues | None]) -> bool:
    """Whether every label of a split is -1, or every row has an empty set of labels."""
    return {row[-1] for row in rows if row is not None} in ({"-1"}, {"-1.0"}, {()})


def _present(loaded: Any, *, name: str) -> dict[str, str]:
    """The data set's split for each of ours that it has."""
    present = {
        ours: found[0]
        for ours, theirs in SPLIT_NAMES.items()
        if (found := [split for split in theirs if split in loaded])
    }
    if "train" not in present:
        reason = f"it has no split 'train'; its splits: {some(list(loaded), most=6)}"
        raise FileUnreadable(path=Path(name), kind="a data set to train on", reason=reason)
    return present


def _named(cell: object, class_names: Sequence[str]) -> object:
    """The cell with names instead of class numbers; a number below 0 means no label."""
    if class_names and isinstance(cell, list):
        return [name for number in cell if (name := _named(number, class_names)) is not None]
    if class_names and isinstance(cell, int):
        return None if cell < 0 else class_names[cell]
    return cell


def _class_names(feature: Any) -> list[str]:
    """The names of a class label feature, or of a list of class labels."""
    inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
    return list(getattr(inner, "names", None) or [])
