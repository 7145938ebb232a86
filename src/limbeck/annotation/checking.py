"""The csv that a person fills in: texts without the model's answer, so that nobody is led by it; and what came back."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.drafting.inspection import column_of
from limbeck.drafting.layout import find_layout
from limbeck.errors import DataError, some
from limbeck.tables import read_table

COLUMNS = ("text", "pair", "label")
SEPARATOR, NONE = "|", "none"  # between several labels of a text; what says that it has none of them


class CheckUnreadable(DataError):
    """The csv of a person cannot be used."""

    def __init__(self, *, path: Path, problems: Sequence[str], classes: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"'{path}' has labels that cannot be used",
            found=some(problems, most=5),
            advice=f"Write one of these into the column label, or leave it empty: {some(classes, most=30)}",
        )


@dataclass(frozen=True)
class Checked:
    """The texts that a person has labelled, and their labels."""

    rows: Rows
    labels: npt.NDArray[np.float64]  # (rows, classes) of 0 and 1


def refuse_ambiguous(classes: Sequence[str], *, multi_label: bool) -> None:
    """Raise DataError for names that a cell of the sheet could not tell apart."""
    seen: dict[str, str] = {NONE: "no class at all"} if multi_label else {}
    for name in classes:
        if (folded := name.casefold()) in seen or (multi_label and SEPARATOR in name):
            found = f"'{name}' beside '{seen[folded]}'" if folded in seen else f"'{name}' has a '{SEPARATOR}'"
            what = "a person could not fill in these classes: capitals do not count, and '|' stands between labels"
            raise DataError(what, found=found, advice="Give it another name.")
        seen[folded] = name


def draw(rows: Rows, *, count: int) -> npt.NDArray[np.int64]:
    """Places of texts for a person, at random: always the same ones of the same texts."""
    return np.sort(np.argsort(rows.keys[:, 1], kind="stable")[:count])


def write_sheet(path: Path, rows: Rows) -> None:
    """The texts with an empty column for the label; an existing file is kept: somebody may have filled it in."""
    if path.exists():
        return
    pairs = rows.pairs
    columns = [name for name in COLUMNS if name != "pair" or pairs is not None]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([text, *([] if pairs is None else [pairs[at]]), ""] for at, text in enumerate(rows.texts))


def read_sheet(path: Path, *, classes: Sequence[str], multi_label: bool, among: Rows | None = None) -> Checked | None:
    """The rows with a label, also as a spreadsheet has saved them; None if there are none yet. White space that it
    changed inside a text is that of `among` again. Raises CheckUnreadable."""
    lines = [line for line in _lines(path, classes=classes) if line["label"]]
    if not lines:
        return None
    by_name = {name.casefold(): number for number, name in enumerate(classes)}
    labels, problems = np.zeros((len(lines), len(classes))), []
    for place, line in enumerate(lines):
        names = _names(line["label"], multi_label=multi_label)
        if unknown := [name for name in names if name.casefold() not in by_name]:
            problems.append(f"'{unknown[0]}' of '{line['text'][:40]}'")
        labels[place, [by_name[name.casefold()] for name in names if name.casefold() in by_name]] = 1
    if problems:
        raise CheckUnreadable(path=path, problems=problems, classes=classes)
    original = {} if among is None else {plain: row for plain, row in zip(plain_rows(among), _both(among), strict=True)}
    texts = [original.get(_plain(line["text"], line.get("pair", "")), _written(line)) for line in lines]
    rows = Rows.of(
        ids=[f"checked-{place}" for place in range(len(lines))],
        texts=[text for text, _ in texts],
        pairs=[pair for _, pair in texts] if "pair" in lines[0] else None,
    )
    return Checked(rows, labels)


def texts_of_sheet(path: Path, *, classes: Sequence[str]) -> set[tuple[str, str]]:
    """The texts of an existing sheet, as `plain_rows` has them, whether they are filled in or not: they are never
    trained on."""
    return {_plain(line["text"], line.get("pair", "")) for line in _lines(path, classes=classes)}


def plain_rows(rows: Rows) -> list[tuple[str, str]]:
    """Each text, and second text or "", with single blanks: spreadsheets change line ends."""
    return [_plain(text, pair) for text, pair in _both(rows)]


def _both(rows: Rows) -> list[tuple[str, str]]:
    return list(zip(rows.texts, rows.pairs or [""] * len(rows), strict=True))


def _plain(text: str, pair: str) -> tuple[str, str]:
    return " ".join(text.split()), " ".join(pair.split())


def _written(line: dict[str, str]) -> tuple[str, str]:
    return line["text"], line.get("pair", "")


def _lines(path: Path, *, classes: Sequence[str]) -> list[dict[str, str]]:
    """The cells of each row that has a text, whichever signs and encoding the spreadsheet likes."""
    if not path.exists():
        return []
    layout = find_layout(path, wanted=COLUMNS)
    named = {name.strip().casefold(): at for at, name in reversed(list(enumerate(layout.columns)))}
    if missing := [name for name in ("text", "label") if name not in named]:
        raise CheckUnreadable(path=path, problems=[f"there is no column {missing[0]}"], classes=classes)
    columns = {name: column_of(layout, named[name]) for name in COLUMNS if name in named}
    cells = {f"cell.{name}": column for name, column in columns.items()}  # empty ones are welcome, unlike labels
    records = read_table(path, form=layout.form, columns=cells)
    lines = [dict(zip(columns, map(str.strip, record.values), strict=True)) for record in records]
    return [line for line in lines if line["text"]]


def _names(cell: str, *, multi_label: bool) -> list[str]:
    names = [name.strip() for name in cell.split(SEPARATOR)] if multi_label else [cell.strip()]
    return [name for name in names if name and not (multi_label and name.casefold() == NONE)]
