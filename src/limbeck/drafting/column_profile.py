"""The properties of one column that `limbeck init` uses to guess its role."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from limbeck.corpus.labelled import LONGEST_LABEL, are_label_lists, find_separator
from limbeck.drafting.layout import Layout

LABEL_NAMES = (  # the first one found is taken
    *("label", "labels", "gold_label", "class", "category", "target", "sentiment", "polarity", "is_duplicate"),
    *("quality", "stars", "rating", "intent", "topic", "emotion", "y", "cat", "tag"),
)
SEVERAL_NAMES = {"tags", "genres", "topics", "categories", "classes", "emotions", "intents", "themes", "subjects"}
SPLITS = {"train", "dev", "test", "transfer", "augmented"}  # in the files of `limbeck labels --export`
MOST_BLANK, MOST_BLANK_NAMED = 0.05, 0.5  # share of blank cells in a label, and in one with a typical label name
ID_NAME = re.compile(r"(^|[\W_])(id|idx|index|guid|uuid|no|number)$", re.IGNORECASE)


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its name (empty without a header), its cells, and its lists if the cells are lists."""

    position: int
    name: str
    cells: Sequence[str]
    lists: Sequence[tuple[str, ...]] | None = None

    @cached_property
    def distinct(self) -> set[str]:
        """The distinct values."""
        return set(self.cells)

    @cached_property
    def values(self) -> set[str]:
        """The distinct values that are not blank."""
        return {cell for cell in self.distinct if cell.strip()}

    @cached_property
    def mean_length(self) -> float:
        """Mean characters of a cell."""
        return sum(map(len, self.cells)) / len(self.cells)

    @cached_property
    def is_integer(self) -> bool:
        """Whether all cells are integers."""
        return all(cell.strip().removeprefix("-").isdecimal() for cell in self.values)

    @cached_property
    def is_text(self) -> bool:
        """Whether it holds words, not numbers, ids or URLs."""
        is_address = sum(cell.startswith(("http://", "https://")) for cell in self.cells) > len(self.cells) / 2
        numeric = all(re.fullmatch(r"[\d\s.,:+\-]*", cell) for cell in self.distinct)
        return not (numeric or is_address or ID_NAME.search(self.name))

    @property
    def is_varied(self) -> bool:
        """Whether it could be a different text in each row rather than a category."""
        return len(self.distinct) > 0.3 * len(self.cells)

    @property
    def is_named_label(self) -> bool:
        """Whether its name is a typical label name."""
        return self.name.lower() in LABEL_NAMES

    @property
    def is_split(self) -> bool:
        """Whether it holds the split of each row."""
        return self.name.lower() == "split" and {cell.strip() for cell in self.distinct} <= SPLITS

    @cached_property
    def separator(self) -> str | None:
        """The separator of labels in its cells, if they hold several."""
        if self.lists is not None or ID_NAME.search(self.name):
            return None
        return find_separator(self.cells, most=self._most_labels)

    @cached_property
    def has_several_labels(self) -> bool:
        """Whether its cells are lists of labels, or labels with a separator between them."""
        if self.lists is not None:
            return are_label_lists(self.lists, most=self._most_labels)
        return self.separator is not None

    def may_be_label(self) -> bool:
        """Whether its cells could be one label each. A few may be blank: those are reported when the file is read."""
        rows, distinct = len(self.cells), len(self.values)
        most_blank = MOST_BLANK_NAMED if self.is_named_label else MOST_BLANK
        return (
            2 <= distinct <= self._most_labels
            and (distinct <= rows / 2 or rows < 6)
            and self.mean_length <= LONGEST_LABEL
            and (distinct == len(self.distinct) or self._blank <= most_blank * rows)
            and not ID_NAME.search(self.name)
        )

    def label_rank(self) -> tuple[int, bool, int]:
        """Sort key: the most likely label comes first; by name, then integers before others, then few values."""
        lower = self.name.lower()
        if lower in LABEL_NAMES:
            rank = LABEL_NAMES.index(lower)
        elif "label" in lower or (lower in SEVERAL_NAMES and self.has_several_labels):
            rank = len(LABEL_NAMES) - 1
        else:
            rank = len(LABEL_NAMES) + (not self.may_be_label())
        return rank, not self.is_integer, len(self.values)

    @cached_property
    def _blank(self) -> int:
        return sum(not cell.strip() for cell in self.cells)

    @property
    def _most_labels(self) -> int:
        named = self.is_named_label or self.name.lower() in SEVERAL_NAMES
        return max(200, len(self.cells) // 10) if named else max(50, len(self.cells) // 500)


def profiles_of(layout: Layout) -> list[ColumnProfile]:
    """The profiles of all columns."""
    return [
        ColumnProfile(position, name if layout.is_named else "", cells, layout.lists.get(position))
        for position, (name, cells) in enumerate(zip(layout.columns, zip(*layout.rows, strict=True), strict=True))
    ]
