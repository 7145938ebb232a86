"""Which column is the text, which the second text, which the label: guessed from names and values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from limbeck.corpus.layout import Layout
from limbeck.errors import ColumnMissing, LabelUnclear, OneClassOnly
from limbeck.recipe.corpus import Column

LABEL_NAMES = (  # the first that is there is taken
    *("label", "labels", "gold_label", "class", "category", "target", "sentiment", "polarity", "is_duplicate"),
    *("quality", "stars", "rating", "intent", "topic", "emotion", "y", "cat", "tag"),
)
ID_NAME = re.compile(r"(^|[\W_])(id|idx|index|guid|uuid|no|number)$", re.IGNORECASE)
SINGLE_TEXT_NAMES = {"title", "subject", "url", "name", "author", "user", "body", "content"}
NAMED_PAIRS = {
    *(("premise", "hypothesis"), ("question", "sentence"), ("question", "answer"), ("query", "title")),
    *(("query", "passage"), ("query", "document"), ("text", "text_pair"), ("left", "right"), ("source", "target")),
}
LONGEST_LABEL = 40  # mean characters of a label
SIMILAR_LENGTH = 2.0  # longer mean over shorter mean of two texts that may be a pair


@dataclass(frozen=True)
class Roles:
    """Positions of the columns."""

    text: int
    pair: int | None
    label: int


@dataclass(frozen=True)
class _Sketch:
    """What the guesses look at of one column."""

    position: int
    name: str
    cells: Sequence[str]

    @cached_property
    def distinct(self) -> set[str]:
        return set(self.cells)

    @cached_property
    def mean_length(self) -> float:
        return sum(map(len, self.cells)) / len(self.cells)

    @cached_property
    def is_integer(self) -> bool:
        return all(cell.strip().removeprefix("-").isdecimal() for cell in self.distinct)

    @cached_property
    def is_text(self) -> bool:
        """Words, and not numbers, ids or addresses."""
        is_address = sum(cell.startswith(("http://", "https://")) for cell in self.cells) > len(self.cells) / 2
        numeric = all(re.fullmatch(r"[\d\s.,:+\-]*", cell) for cell in self.distinct)
        return not (numeric or is_address or ID_NAME.search(self.name))

    @property
    def is_varied(self) -> bool:
        """Whether it could be a text of its own in each row rather than a category."""
        return len(self.distinct) > 0.3 * len(self.cells)

    def may_be_label(self) -> bool:
        rows, kinds = len(self.cells), len(self.distinct)
        named = self.name.lower() in LABEL_NAMES
        most = max(200, rows // 10) if named else max(50, rows // 500)
        return (
            2 <= kinds <= most
            and (kinds <= rows / 2 or rows < 6)
            and self.mean_length <= LONGEST_LABEL
            and all(cell.strip() for cell in self.distinct)
            and not ID_NAME.search(self.name)
        )

    def label_rank(self) -> tuple[int, bool, int]:
        lower = self.name.lower()
        place = LABEL_NAMES.index(lower) if lower in LABEL_NAMES else len(LABEL_NAMES) - ("label" in lower)
        return place, not self.is_integer, len(self.distinct)


def find_roles(
    layout: Layout, *, path: Path, text: Column | None = None, pair: Column | None = None, label: Column | None = None
) -> Roles:
    """The columns' roles; those the user has named are taken as they are. Raises LabelUnclear where a guess fails."""
    sketches = [
        _Sketch(position, name if layout.is_named else "", cells)
        for position, (name, cells) in enumerate(zip(layout.columns, zip(*layout.rows, strict=True), strict=True))
    ]
    given = {
        key: _position(layout, column, key=key, path=path)
        for key, column in (("text", text), ("pair", pair), ("label", label))
        if column is not None
    }
    free = [sketch for sketch in sketches if sketch.position not in given.values()]
    if "label" not in given:
        given["label"] = _guess_label(free, layout=layout, path=path)
        free = [sketch for sketch in free if sketch.position != given["label"]]
    if "text" not in given:
        given |= _guess_texts(free, layout=layout, path=path, wants_pair="pair" not in given)
    return Roles(text=given["text"], pair=given.get("pair"), label=given["label"])


def _position(layout: Layout, column: Column, *, key: str, path: Path) -> int:
    if isinstance(column, str) and column not in layout.columns and column.isdigit():
        column = int(column)
    if isinstance(column, int) and 0 <= column < len(layout.columns):
        return column
    if column not in layout.columns:
        raise ColumnMissing(path=path, column=str(column), key=key, columns=layout.columns)
    return layout.columns.index(str(column))


def _guess_label(sketches: Sequence[_Sketch], *, layout: Layout, path: Path) -> int:
    possible = [sketch for sketch in sketches if sketch.may_be_label()]
    named = [sketch for sketch in sketches if sketch.name.lower() in LABEL_NAMES]
    if named and not any(sketch in possible for sketch in named) and len(named[0].distinct) == 1:
        raise OneClassOnly(path=path.name, label=named[0].cells[0], rows=len(named[0].cells))
    if not possible:
        raise LabelUnclear(path=path, what="label", columns=_with_examples(layout))
    return min(possible, key=_Sketch.label_rank).position


def _guess_texts(sketches: Sequence[_Sketch], *, layout: Layout, path: Path, wants_pair: bool) -> dict[str, int]:
    texts = [sketch for sketch in sketches if sketch.is_text and sketch.mean_length > 0]
    if not texts:
        raise LabelUnclear(path=path, what="text", columns=_with_examples(layout))
    longest = max(texts, key=lambda sketch: sketch.mean_length)
    partners = [sketch for sketch in texts if sketch is not longest and _is_pair(longest, sketch)]
    if not (wants_pair and partners):
        return {"text": longest.position}
    other = max(partners, key=lambda sketch: (_is_named_pair(longest, sketch), sketch.mean_length))
    first, second = sorted([longest.position, other.position])
    return {"text": first, "pair": second}


def _is_pair(longest: _Sketch, other: _Sketch) -> bool:
    if _is_named_pair(longest, other):
        return True
    is_alike = longest.mean_length <= SIMILAR_LENGTH * other.mean_length
    is_single = {longest.name.lower(), other.name.lower()} & SINGLE_TEXT_NAMES
    return is_alike and longest.is_varied and other.is_varied and not is_single


def _is_named_pair(one: _Sketch, other: _Sketch) -> bool:
    first, second = sorted([one, other], key=lambda sketch: sketch.position)
    left, right = first.name.lower(), second.name.lower()
    if not left or left == right:
        return False
    by_sign = [left.replace("1", "2"), re.sub(r"a$", "b", left), left.replace("first", "second")]
    return right in by_sign or (left, right) in NAMED_PAIRS


def _with_examples(layout: Layout) -> dict[str, str]:
    return {
        name: " ".join(cell.split())[:60] + ("…" if len(cell) > 60 else "")
        for name, cell in zip(layout.columns, layout.rows[0], strict=True)
    }
