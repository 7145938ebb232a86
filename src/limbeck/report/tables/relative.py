"""The second table: how much better or worse each model is than each other, as a share of the other's accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

from limbeck.report import wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named

ITSELF = "·"


def relative_grid(report: Mapping[str, Any]) -> Grid:
    """(row − column) / column in percent, for every pair of models of a report."""
    return matrix_grid(report["models"], measure=wording.measure(report))


def matrix_grid(entries: Sequence[Entry], *, measure: str) -> Grid:
    """The same for any entries; their names must differ."""
    rows = [{**entry, "place": place} for place, entry in enumerate(entries)]
    name = Field(heading="", text=lambda row: str(row["name"]), values={"model": named("name")}, is_words=True)
    caption = f"change of {measure} in % of the column's: (row − column) / column"
    fields = [name, *(_against(entry, place) for place, entry in enumerate(entries))]
    return grid_of("relative", title="Relative change", fields=fields, entries=rows, caption=caption)


def relative_change(model: Entry, other: Entry) -> float | None:
    """How much more accurate a model is than the other, as a share of the other's accuracy.

    Against a teacher that labelled only some of the rows, both accuracies are of those rows.
    """
    own, others = _comparable_accuracy(model, other), _comparable_accuracy(other, model)
    return None if own is None or not others else (own - others) / others


def _comparable_accuracy(model: Entry, other: Entry) -> float | None:
    accuracy: float | None = model["accuracy"]
    known = model.get("accuracy_on_teacher_rows") if other["role"] == "teacher" else None
    return accuracy if known is None else float(known)


def _against(other: Entry, place: int) -> Field:
    def text(row: Entry) -> str:
        if row["place"] == place:
            return ITSELF
        change = wording.signed(relative_change(row, other))
        return "0.0" if change in ("+0.0", "−0.0") else change

    return Field(
        heading=str(other["name"]), text=text, values={f"vs {other['name']}": lambda row: relative_change(row, other)}
    )
