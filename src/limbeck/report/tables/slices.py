"""Accuracy on parts of the rows, the worst first: of a report, and of `limbeck evaluate`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from limbeck.errors import some
from limbeck.report import wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named

MOST_SHOWN = 3


def slices_grid(slices: Mapping[str, Any] | None, *, measure: str) -> Grid:
    """All slices; without lines where there are none, as in old reports. `measure` is "accuracy" or "exact match"."""
    found = slices or {}
    of_model = f": {found['model']}" if "model" in found else ""
    return grid_of(
        "slices",
        title=f"Slices{of_model}",
        fields=FIELDS,
        entries=found.get("groups", []),
        caption=f"{measure} on parts of the rows, in %; interval: 95 % for all parts together" if found else "",
        notes=list(says(found, measure=measure)) if found else [],
    )


def worst(grid: Grid, *, rest: str = "; all of them: --table slices") -> Grid:
    """The three worst, and a note about the others."""
    more = len(grid.lines) - MOST_SHOWN
    if more <= 0:
        return grid
    return replace(grid, lines=grid.lines[:MOST_SHOWN], caption=f"{grid.caption} … and {more:,} more{rest}")


def says(slices: Mapping[str, Any], *, measure: str) -> Iterator[str]:
    """Which slices are worse than all rows, if any is beyond doubt."""
    bad = [_name(group) for group in slices["groups"] if group["is_worse"]]
    overall = f"{wording.percent(slices['accuracy'])} % {measure} of all {slices['rows']:,} rows"
    searched = f"{slices['looked_at']:,} parts of at least {slices['least_rows']:,} rows"
    if bad:
        yield f"Below the {overall} beyond noise, of {searched}: {some(bad, most=MOST_SHOWN)}."
    else:
        yield f"None of {searched} is below the {overall} beyond noise."


def _name(entry: Entry) -> str:
    return f"'{entry['name']}'" if entry["kind"] == "word" else str(entry["name"])


def _interval(entry: Entry) -> str:
    low, high = entry["ci"]
    return f"{wording.percent(low)}–{wording.percent(high)}"


FIELDS: Sequence[Field] = [
    Field("by", lambda entry: str(entry["kind"]), {"by": named("kind")}, is_words=True),
    Field("slice", lambda entry: str(entry["name"]), {"slice": named("name")}, is_words=True),
    Field("rows", lambda entry: f"{entry['rows']:,}", {"rows": named("rows")}),
    Field("right", lambda entry: wording.percent(entry["accuracy"]), {"accuracy": named("accuracy")}),
    Field(
        "interval",
        _interval,
        {"low": lambda entry: entry["ci"][0], "high": lambda entry: entry["ci"][1]},
    ),
    Field("", lambda entry: "worse" if entry["is_worse"] else "", {"is_worse": named("is_worse")}, is_words=True),
]
