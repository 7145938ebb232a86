"""Finds the text and the number of each class in a file of answers: columns by name, or fields of objects."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from limbeck.errors import FileEmpty, TeacherError, did_you_mean, some
from limbeck.recipe.corpus import Column
from limbeck.recipe.teacher import FileTeacher
from limbeck.tables import TableForm
from limbeck.tables.raw_table import ABSENT, NumberedCells, RawTable, find_column
from limbeck.tables.table import open_table

Meaning = Literal["probabilities", "logits"]
Values = npt.NDArray[np.float32]  # (rows, classes), as the file has them

# Prefixes of a class's name, and what they say about the numbers; the first prefix that fits is used. Columns named
# just like the classes come after those with a prefix: they may be gold labels, 0 and 1.
PREFIXES: dict[str, Meaning | None] = {
    "probability_": "probabilities",
    "logit_": "logits",
    "": None,
    "probabilities.": "probabilities",
    "logits.": "logits",
}


class ClassColumnsMissing(TeacherError):
    """A file of answers has no number for some classes of the corpus."""

    def __init__(self, *, path: Path, missing: Sequence[str], classes: Sequence[str], columns: Sequence[str]) -> None:
        self.missing, self.columns = tuple(missing), tuple(columns)
        entries = [f'"{name}" = "{_likely_column(name, columns)}"' for name in classes[:12]]
        table = ", ".join(entries if len(classes) <= 12 else [*entries, "…"])
        quoted = [f"'{name}'{did_you_mean(name, columns)}" for name in missing]
        super().__init__(
            f"'{path}' has no column for {len(missing):,} of {len(classes):,} classes: {some(quoted)}",
            found=f"classes of the corpus: {some(classes, most=12)}\n"
            f"columns of the file: {some(columns, most=20) or 'without names'}",
            advice="Name the column of every class in [teacher], by its name or its number from 0: "
            f"columns = {{{table}}}",
        )


def _likely_column(name: str, columns: Sequence[str]) -> str:
    """The likely column of a class: one that ends like it, or is similar to it; else an ellipsis."""
    endings = [column for column in columns if column.casefold().endswith(name.casefold())]
    return (endings or get_close_matches(name, columns, n=1, cutoff=0.6) or ["…"])[0]


class ClassUnknown(TeacherError):
    """A key of the recipe names classes that the corpus does not have."""

    def __init__(self, *, key: str, unknown: Sequence[str], classes: Sequence[str]) -> None:
        self.unknown = tuple(unknown)
        quoted = [f"'{name}'{did_you_mean(name, classes)}" for name in unknown]
        super().__init__(
            f"`{key}` names classes that the corpus does not have: {some(quoted)}",
            found=f"classes of the corpus: {some(classes, most=12)}",
            advice="Correct the names; they are those of the labels after corpus.label_names.",
        )


class AnswerMalformed(TeacherError):
    """One row of a file of answers has a value that is not a number, or numbers that are not probabilities."""

    def __init__(self, *, path: Path, row: int, column: str, found: str, reason: str, advice: str) -> None:
        self.row, self.column, self.value = row, column, found
        super().__init__(f"'{path}', row {row:,}, {column}: {reason}", found=f"found: {found}", advice=advice)


class Place(NamedTuple):
    """A column, or a field of the objects in it."""

    column: int
    field: str | None = None


@dataclass(frozen=True)
class ScoreColumns:
    """The columns of a file of answers."""

    texts: list[int]  # of the text and, for pairs, of the second text
    names: list[str]  # the file's name of each class, in the order of the classes
    places: list[Place]  # of its number
    meaning: Meaning | None  # what the names say about the numbers


def form_of(section: FileTeacher) -> TableForm:
    """How the file is to be read."""
    return TableForm.of(section)


def find_score_columns(section: FileTeacher, *, classes: Sequence[str]) -> ScoreColumns:
    """The columns, by the file's header and its first row. Raises if a class has none."""
    path = Path(section.path)
    table = open_table(path, form=form_of(section))
    keys = {"text": section.text} | ({} if section.pair is None else {"pair": section.pair})
    texts = [find_column(table, column, key=f"teacher.{key}") for key, column in keys.items()]
    places = _places(table)
    if section.columns:
        found = _given(section.columns, table=table, places=places, classes=classes)
    else:
        free = [name for name, place in places.items() if place.column not in texts] if table.is_named else []
        names = _by_name(free, path=path, classes=classes, values=section.values)
        found = [places[name] for name in names]
    names = [_name(place, table) for place in found]
    return ScoreColumns(texts, names, found, _meaning(names))


def read_numbers(piece: Sequence[NumberedCells], columns: ScoreColumns, *, path: Path) -> Values:
    """(rows, classes) of rows with the cells of the texts, then one for each place. Raises AnswerMalformed."""
    skipped = len(columns.texts)
    try:
        flat = [
            float(_at(place, cell))
            for _, cells in piece
            for place, cell in zip(columns.places, cells[skipped:], strict=True)
        ]
    except (TypeError, ValueError, KeyError, OverflowError):
        raise _first_fault(piece, columns, path=path) from None
    with np.errstate(over="ignore"):
        values = np.array(flat, dtype=np.float64).astype(np.float32).reshape(len(piece), -1)
    if not np.isfinite(values).all():
        raise _first_fault(piece, columns, path=path)
    return values


def _at(place: Place, cell: Any) -> Any:
    return cell if place.field is None else cell[place.field]


def _first_fault(piece: Sequence[NumberedCells], columns: ScoreColumns, *, path: Path) -> AnswerMalformed:
    """Which cell of these rows is not a number. It may be slow: it runs only once."""
    for number, cells in piece:
        for name, place, cell in zip(columns.names, columns.places, cells[len(columns.texts) :], strict=True):
            found, reason = _fault(place, cell)
            if reason is not None:
                advice = "Give a plain number such as 0.25 for every class, or remove the row from the file."
                return AnswerMalformed(path=path, row=number, column=name, found=found, reason=reason, advice=advice)
    raise AssertionError("a fault was found in these rows before")


def _fault(place: Place, cell: Any) -> tuple[str, str | None]:
    """A cell as shown in a message, and what is wrong with it; None if nothing is."""
    if cell is ABSENT:
        return "nothing", "missing"
    if place.field is not None and not isinstance(cell, dict):
        return _shown(cell), "not an object with a number for each class"
    if place.field is not None and place.field not in cell:
        return _shown(cell), "missing"
    value = _at(place, cell)
    if value is None or value == "":
        return _shown(value), "empty"
    try:
        with np.errstate(over="ignore"):
            is_finite = bool(np.isfinite(np.float32(float(value))))
    except (TypeError, ValueError, OverflowError):
        return _shown(value), "not a number"
    return _shown(value), None if is_finite else "not a finite number"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _places(table: RawTable) -> dict[str, Place]:
    """Every place by its name: "p_neg", and "probabilities.neg" for a field of an object."""
    first = next(table.rows(range(len(table.columns))), None)
    if first is None:
        raise FileEmpty(path=table.path)
    places: dict[str, Place] = {}
    for column, cell in enumerate(first[1]):
        fields = [str(field) for field in cell] if isinstance(cell, Mapping) else []
        for place in [Place(column), *(Place(column, field) for field in fields)]:
            places.setdefault(_name(place, table), place)
    return places


def _name(place: Place, table: RawTable) -> str:
    name = table.columns[place.column]
    return name if place.field is None else f"{name}.{place.field}"


def _given(
    columns: Mapping[str, Column], *, table: RawTable, places: Mapping[str, Place], classes: Sequence[str]
) -> list[Place]:
    """The places that the recipe names."""
    unknown = [name for name in columns if name not in classes]
    if unknown:
        raise ClassUnknown(key="teacher.columns", unknown=unknown, classes=classes)
    missing = [name for name in classes if name not in columns]
    if missing:
        raise ClassColumnsMissing(path=table.path, missing=missing, classes=classes, columns=list(places))
    return [_named(columns[name], table=table, places=places, key=f"teacher.columns.{name}") for name in classes]


def _named(column: Column, *, table: RawTable, places: Mapping[str, Place], key: str) -> Place:
    if isinstance(column, str) and column in places:
        return places[column]
    return Place(find_column(table, column, key=key))


def _by_name(names: Sequence[str], *, path: Path, classes: Sequence[str], values: str) -> list[str]:
    """The names of the classes' columns, with the first prefix that has all of them."""
    best: list[str | None] = [None] * len(classes)
    for prefix, meaning in PREFIXES.items():
        if meaning is not None and values not in ("auto", meaning):
            continue
        found = _matched([prefix + name for name in classes], names)
        if best.count(None) > found.count(None):
            best = found
    if None in best:
        missing = [name for name, match in zip(classes, best, strict=True) if match is None]
        raise ClassColumnsMissing(path=path, missing=missing, classes=classes, columns=names)
    return [match for match in best if match is not None]


def _matched(wanted: Sequence[str], names: Sequence[str]) -> list[str | None]:
    """For each wanted name the same one; else the one that differs only in case, if it is unambiguous."""
    exact = {name for name in wanted if name in names}
    left = [name for name in names if name not in exact]
    ambiguous = Counter(name.casefold() for name in wanted if name not in exact)
    counts = Counter(name.casefold() for name in left)
    folded = {name.casefold(): name for name in left if counts[name.casefold()] == 1 == ambiguous[name.casefold()]}
    return [name if name in exact else folded.get(name.casefold()) for name in wanted]


def _meaning(names: Sequence[str]) -> Meaning | None:
    for prefix, meaning in PREFIXES.items():
        if meaning is not None and all(name.casefold().startswith(prefix) for name in names):
            return meaning
    return None
