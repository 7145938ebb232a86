"""The second table: how much better or worse each model is than each other, as a share of the other's accuracy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from limbeck.report import wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named

ITSELF = "·"
P_CAPTION = (
    "; in brackets p: McNemar's exact test between the shipped copies, 0.05 or more is no difference beyond noise"
)


def relative_grid(report: Mapping[str, Any]) -> Grid:
    """(row − column) / column in percent, for every pair of models of a report."""
    return matrix_grid(wording.marked_models(report), measure=wording.measure(report))


P_OF = Callable[[Entry, Entry], float | None]  # whether the difference of two models may be chance


def matrix_grid(entries: Sequence[Entry], *, measure: str, p_of: P_OF | None = None, notes: Sequence[str] = ()) -> Grid:
    """The same for any entries; their names must differ. With `p_of`, each cell has p behind the change."""
    rows = [{**entry, "place": place} for place, entry in enumerate(entries)]
    name = Field(heading="", text=lambda row: str(row["name"]), values={"model": named("name")}, is_words=True)
    caption = f"change of {measure} in % of the column's: (row − column) / column{P_CAPTION if p_of else ''}"
    fields = [name, *(_against(entry, place, p_of) for place, entry in enumerate(entries))]
    return grid_of("relative", title="Relative change", fields=fields, entries=rows, caption=caption, notes=notes)


def relative_change(model: Entry, other: Entry) -> float | None:
    """How much more accurate a model is than the other, as a share of the other's accuracy.

    Against a teacher that labelled only some of the rows, both accuracies are of those rows.
    """
    own, others = _comparable_accuracy(model, other), _comparable_accuracy(other, model)
    return None if own is None or not others else (own - others) / others


def _comparable_accuracy(model: Entry, other: Entry) -> float | None:
    accuracy = wording.headline(model)
    known = model.get("accuracy_on_teacher_rows") if other["role"] == "teacher" else None
    if other["role"] == "teacher" and model.get("on_teacher_rows"):
        known = model["on_teacher_rows"]["spearman"]
    return accuracy if known is None else float(known)


def _against(other: Entry, place: int, p_of: P_OF | None) -> Field:
    def p(row: Entry) -> float | None:
        return p_of(row, other) if p_of and row["place"] != place else None

    def text(row: Entry) -> str:
        if row["place"] == place:
            return ITSELF
        change = wording.signed(relative_change(row, other))
        shown = "0.0" if change in ("+0.0", "−0.0") else change
        return shown if (found := p(row)) is None else f"{shown} ({wording.p_value(found)})"

    values = {f"vs {other['name']}": lambda row: relative_change(row, other)}
    return Field(heading=str(other["name"]), text=text, values=values | ({f"p vs {other['name']}": p} if p_of else {}))
