"""The properties of one column that `limbeck init` uses to guess its role."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from limbeck.corpus.file_rows import ENOUGH_LABELLED
from limbeck.corpus.labelled import LONGEST_LABEL, are_label_lists, find_separator
from limbeck.corpus.splits import SPLIT_WORDS, split_named
from limbeck.drafting.layout import Layout

LABEL_NAMES = (  # the first one found is taken
    *("label", "labels", "gold_label", "class", "category", "target", "sentiment", "polarity", "is_duplicate"),
    *("quality", "stars", "rating", "intent", "topic", "emotion", "y", "cat", "tag"),
)
SCORE_NAMES = {
    "score",
    "scores",
    "similarity",
    "relatedness",
    "relevance",
    "grade",
    "readability",
    "mos",
    "valence",
    "points",
}
WHOLE_SCORE_NAMES = SCORE_NAMES | {"rating", "quality"}  # whole numbers under another name are classes
MANY_SCORES, MANY_WHOLE = 8, 20  # different numbers that are scores: with decimals, and whole ones
MOST_UNNUMBERED = 0.02  # share of other cells, such as "n/a"; they are errors when the file is read
STARS = range(3, 12)  # different whole numbers in a row that may be points on a scale
SEVERAL_NAMES = {"tags", "genres", "topics", "categories", "classes", "emotions", "intents", "themes", "subjects"}
SPLITS = {"train", "dev", "test", "transfer", "augmented"}  # in the files of `limbeck labels --export`
SPLIT_NAMES = {"split", "splits", "set", "subset", "partition", "data_split", "dataset", "fold", "usage"}
MOST_BLANK, MOST_BLANK_NAMED = 0.05, 0.5  # share of blank cells in a label, and in one with a typical label name
NUMBERED = {"id", "idx", "index", "no", "nr", "number", "num", "code", "name"}  # as in "intent_id", "Class Index"
WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
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
    def is_words(self) -> bool:
        """Whether most of its values have no digit in them, as dates and codes have."""
        return 2 * sum(any(map(str.isdecimal, value)) for value in self.values) < len(self.values)

    @property
    def is_varied(self) -> bool:
        """Whether it could be a different text in each row rather than a category."""
        return len(self.distinct) > 0.3 * len(self.cells)

    @property
    def is_named_label(self) -> bool:
        """Whether its name is a typical label name, or one for its number or its name."""
        return self._label_name in LABEL_NAMES

    @cached_property
    def _label_name(self) -> str:
        """Its name as LABEL_NAMES writes it: intent_id and intentId are "intent", Class Index is "class"."""
        lower, words = self.name.lower(), [word.lower() for word in WORDS_OF_NAME.findall(self.name)]
        if lower not in LABEL_NAMES and len(words) > 1 and words[-1] in NUMBERED:
            return "_".join(words[:-1])
        return lower

    @property
    def _is_id(self) -> bool:
        return ID_NAME.search(self.name) is not None and not self.is_named_label

    @property
    def is_split(self) -> bool:
        """Whether it holds the split of each row."""
        if self.name.lower() not in SPLIT_NAMES:
            return False
        return all(split_named(cell) or cell.strip() in SPLITS for cell in self.distinct)

    @cached_property
    def split_rows(self) -> dict[str, int]:
        """How many rows are of train, dev and test, if it says so of every row."""
        counts = Counter(split_named(cell) for cell in self.cells)
        rows = {split: counts[split] for split in SPLIT_WORDS if counts[split]}
        return rows if self.is_split and sum(rows.values()) == len(self.cells) and {"train"} < rows.keys() else {}

    @cached_property
    def separator(self) -> str | None:
        """The separator of labels in its cells, if they hold several."""
        if self.lists is not None or self._is_id:
            return None
        return find_separator(self.cells, most=self._most_labels)

    @cached_property
    def has_several_labels(self) -> bool:
        """Whether its cells are lists of labels, or labels with a separator between them."""
        if self.lists is not None:
            return are_label_lists(self.lists, most=self._most_labels)
        return self.separator is not None

    def may_be_label(self, *, most: int | None = None) -> bool:
        """Whether its cells could be one label each. A few may be blank: those are reported when the file is read.

        `most` labels, or as many as its name lets expect."""
        rows, distinct = len(self.cells), len(self.values)
        most_blank = (MOST_BLANK_NAMED if self.is_named_label else MOST_BLANK) * rows
        if self.is_named_label and rows - self._blank >= ENOUGH_LABELLED:
            rows, most_blank = rows - self._blank, rows  # the others are still to be labelled
        return (
            2 <= distinct <= (most or self._most_labels)
            and (distinct <= rows / 2 or rows < 6)
            and self.mean_length <= LONGEST_LABEL
            and (distinct == len(self.distinct) or self._blank <= most_blank)
            and not self._is_id
        )

    @cached_property
    def numbers(self) -> list[float] | None:
        """Its different values, if nearly all are finite numbers."""
        found = [number for value in self.values if (number := _number(value)) is not None]
        return found if found and len(self.values) - len(found) <= MOST_UNNUMBERED * len(self.values) else None

    @cached_property
    def is_score(self) -> bool:
        """Whether it holds many different numbers: with decimals, or whole ones under the name of a score."""
        if self.lists is not None or self._is_id or self.numbers is None:
            return False
        if any(not number.is_integer() for number in self.numbers):
            return len(self.numbers) >= MANY_SCORES
        return bool(self._words & WHOLE_SCORE_NAMES) and len(self.numbers) >= MANY_WHOLE

    @property
    def is_named_score(self) -> bool:
        """Whether its name is that of a label or of a score."""
        return self.is_named_label or bool(self._words & SCORE_NAMES)

    @property
    def _words(self) -> set[str]:
        """The words of its name: avgRating and similarity_score have two each."""
        return {word.lower() for word in WORDS_OF_NAME.findall(self.name)}

    @property
    def _is_named_as_score(self) -> bool:
        return self.is_score and self.is_named_score

    def label_rank(self) -> tuple[int, bool, int]:
        """Sort key: the most likely label comes first; by name, then integers before others, then few values.

        Of category_id and category_name the names come first."""
        lower = self.name.lower()
        if self.is_named_label:
            rank = LABEL_NAMES.index(self._label_name)
        elif (
            (self.is_score and self.is_named_score)
            or "label" in lower
            or (lower in SEVERAL_NAMES and self.has_several_labels)
        ):
            rank = len(LABEL_NAMES) - 1
        else:
            rank = len(LABEL_NAMES) + (not self.may_be_label())
        is_number_of = self.is_named_label and lower not in LABEL_NAMES
        return rank, self.is_integer == is_number_of, len(self.values)

    @property
    def has_label_name(self) -> bool:
        """Whether its name, and not only its values, says that it is a label."""
        return self.label_rank()[0] < len(LABEL_NAMES)

    @cached_property
    def _blank(self) -> int:
        return sum(not cell.strip() for cell in self.cells)

    @property
    def _most_labels(self) -> int:
        named = self.is_named_label or self.name.lower() in SEVERAL_NAMES
        return max(200, len(self.cells) // 10) if named else max(50, len(self.cells) // 500)


def _number(cell: str) -> float | None:
    try:
        found = float(cell)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def are_stars(labels: Collection[str]) -> bool:
    """Whether these are whole numbers in a row, such as 1 to 5 stars, which may be classes or points on a scale."""
    whole = [label.removesuffix(".0") for label in labels]
    if len(labels) not in STARS or not all(label.isdecimal() for label in whole):
        return False
    numbers = sorted(map(int, whole))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def profiles_of(layout: Layout) -> list[ColumnProfile]:
    """The profiles of all columns."""
    return [
        ColumnProfile(position, name if layout.is_named else "", cells, layout.lists.get(position))
        for position, (name, cells) in enumerate(zip(layout.columns, zip(*layout.rows, strict=True), strict=True))
    ]
