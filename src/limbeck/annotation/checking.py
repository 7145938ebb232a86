"""The csv that a person fills in: texts without the model's answer, so that nobody is led by it; and what came back."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows, content_keys
from limbeck.errors import DataError, some

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


def read_sheet(path: Path, *, classes: Sequence[str], multi_label: bool) -> Checked | None:
    """The rows with a label; None if there are none yet. Raises CheckUnreadable."""
    if not path.exists():
        return None
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [line for line in csv.DictReader(file) if (line.get("label") or "").strip()]
    if not lines:
        return None
    if any("text" not in line or line["text"] is None for line in lines):
        raise CheckUnreadable(path=path, problems=["there is no column text"], classes=classes)
    by_name = {name.casefold(): number for number, name in enumerate(classes)}
    labels, problems = np.zeros((len(lines), len(classes))), []
    for place, line in enumerate(lines):
        names = _names(line["label"], multi_label=multi_label)
        if unknown := [name for name in names if name.casefold() not in by_name]:
            problems.append(f"'{unknown[0]}' of '{line['text'][:40]}'")
        labels[place, [by_name[name.casefold()] for name in names if name.casefold() in by_name]] = 1
    if problems:
        raise CheckUnreadable(path=path, problems=problems, classes=classes)
    has_pairs = "pair" in lines[0]
    rows = Rows.of(
        ids=[f"checked-{place}" for place in range(len(lines))],
        texts=[line["text"].strip() for line in lines],
        pairs=[(line["pair"] or "").strip() for line in lines] if has_pairs else None,
    )
    return Checked(rows, labels)


def _names(cell: str, *, multi_label: bool) -> list[str]:
    names = [name.strip() for name in cell.split(SEPARATOR)] if multi_label else [cell.strip()]
    return [name for name in names if name and not (multi_label and name.casefold() == NONE)]


def sheet_keys(path: Path) -> set[bytes]:
    """The texts of an existing sheet, whether they are filled in or not: they are never trained on."""
    if not path.exists():
        return set()
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line.get("text")]
    if not lines:
        return set()
    pairs = [(line["pair"] or "").strip() for line in lines] if "pair" in lines[0] else None
    return {key.tobytes() for key in content_keys([line["text"].strip() for line in lines], pairs)}
