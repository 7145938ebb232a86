"""A table before it is written: the text of each column for people, and its numbers for programs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Entry = Mapping[str, Any]
ALWAYS = 0  # the rank of columns that are never dropped


@dataclass(frozen=True)
class Field:
    """One column of a table as people read it, and its numbers by the names they have in files."""

    heading: str
    text: Callable[[Entry], str]
    values: Mapping[str, Callable[[Entry], Any]]
    rank: int = ALWAYS  # the higher, the sooner it is dropped on a narrow terminal
    page_heading: str = ""  # a longer heading, for the page
    legend: str = ""  # an explanation of the heading, below the table
    is_words: bool = False  # words are aligned left, numbers right

    def knows(self, entries: Iterable[Entry]) -> bool:
        """Whether any entry has a value for it."""
        return any(value(entry) is not None for entry in entries for value in self.values.values())


@dataclass(frozen=True)
class Line:
    """One line: a cell for each column, and their numbers."""

    role: str  # "best" for the model that the verdict is about
    cells: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """A table that can be written in any format."""

    name: str  # "quality"
    title: str
    fields: tuple[Field, ...]
    lines: tuple[Line, ...]
    caption: str = ""  # what the table shows
    notes: tuple[str, ...] = ()  # what its numbers mean, in sentences

    @property
    def explained(self) -> str:
        """The caption, and the legends of its columns."""
        return "; ".join(filter(None, [self.caption, *(field.legend for field in self.fields)]))

    def at(self, columns: Sequence[int]) -> "Grid":
        """The same with these columns only."""
        lines = [Line(line.role, tuple(line.cells[column] for column in columns), line.values) for line in self.lines]
        return replace(self, fields=tuple(self.fields[column] for column in columns), lines=tuple(lines))


def grid_of(
    name: str,
    *,
    title: str,
    fields: Sequence[Field],
    entries: Sequence[Entry],
    caption: str = "",
    notes: Sequence[str] = (),
) -> Grid:
    """The table of these entries. Columns without any value, as in old reports, are omitted."""
    known = [field for field in fields if field.rank == ALWAYS or field.knows(entries)]
    lines = [
        Line(
            role="best" if entry.get("is_best") else str(entry.get("role", "")),
            cells=tuple(field.text(entry) for field in known),
            values={key: value(entry) for field in known for key, value in field.values.items()},
        )
        for entry in entries
    ]
    return Grid(name=name, title=title, fields=tuple(known), lines=tuple(lines), caption=caption, notes=tuple(notes))


def named(key: str) -> Callable[[Entry], Any]:
    """A function for an entry's value of this key, or of this path of keys ("macro.f1"); None if it is missing."""
    path = key.split(".")

    def look_up(entry: Entry) -> Any:
        found: Any = entry
        for step in path:
            if not isinstance(found, Mapping):
                return None
            found = found.get(step)
        return found

    return look_up
