"""The csv files of a review, which a person edits: written whole, and never over somebody's work."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import FileMissing, FileUnreadable, PathUnusable

LABELS, NEXT, CLASSES = "labels.csv", "next.csv", "classes.csv"
NEW_LABEL, LABEL, ID, TEXT, PAIR = "new_label", "label", "id", "text", "pair"
EDITED = {LABELS: NEW_LABEL, NEXT: LABEL}  # the empty column that a person fills


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the file in one step, with a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.partial")
    with scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    scratch.replace(path)


def read_sheet(path: Path) -> list[dict[str, str]]:
    """The rows of a csv file with a header, as texts; raises if it is none.

    Spreadsheets may have written it with a byte order mark, or with semicolons.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise FileMissing(path=path.name, looked_in=[path.parent]) from None
    except (OSError, UnicodeDecodeError) as error:
        advice = "Save it as csv in UTF-8."
        raise FileUnreadable(path=path, kind="a reviewed csv", reason=str(error), advice=advice) from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    try:
        csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a text may be long
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        advice = "Save it as csv, with quotes around fields that have commas."
        raise FileUnreadable(path=path, kind="a reviewed csv", reason=str(error), advice=advice) from None
    columns = [name.strip() for name in rows[0]] if rows else []
    if ID not in columns:
        advice = "Give the labels.csv or next.csv of a review, with all of its columns."
        raise FileUnreadable(path=path, kind="a reviewed csv", reason=f"it has no column `{ID}`", advice=advice)
    return [dict(zip(columns, row, strict=False)) for row in rows[1:] if any(row)]


def refuse_edited(folder: Path, *, force: bool) -> None:
    """Raise PathUnusable if somebody has filled the empty column of a sheet: a new review would write over it."""
    for name, column in EDITED.items():
        path = folder / name
        if force or not path.is_file():
            continue
        filled = sum(bool(row.get(column, "").strip()) for row in read_sheet(path))
        if filled:
            reason = f"{filled:,} of its rows have a value in `{column}`, which a new review would remove"
            advice = "Apply it with --apply, or copy it to another place; then review again with --force."
            raise PathUnusable(path=str(path), reason=reason, advice=advice)
