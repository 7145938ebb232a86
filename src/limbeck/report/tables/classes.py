"""The fourth table: precision, recall, F1 and rows of each class, and their means."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from limbeck.report import wording
from limbeck.report.tables.grid import Entry, Field, Grid, Line, grid_of, named
from limbeck.report.tables.quality import percents

MEANS = {"macro": "mean of classes", "weighted": "weighted by rows"}


def classes_grid(report: Mapping[str, Any]) -> Grid:
    """The classification report of the main student, with the F1 of every other model."""
    subject = wording.main_model(report) or wording.teacher_of(report)
    others = [entry for entry in report["models"] if entry["name"] != subject["name"] and entry["per_class"]]
    table = subject["per_class"] or []
    entries: list[dict[str, Any]] = [
        {**row, "others": {entry["name"]: entry["per_class"][place]["f1"] for entry in others}}
        for place, row in enumerate(table)
    ]
    rows = sum(row["support"] for row in table)
    entries += [
        {
            "label": words,
            "role": "mean",
            **subject[mean],
            "support": rows,
            "others": {entry["name"]: named(f"{mean}.f1")(entry) for entry in others},
        }
        for mean, words in MEANS.items()
        if table and subject.get(mean)
    ]
    fields = [*OF_A_CLASS, *(_f1_of(entry, rank) for rank, entry in enumerate(others, start=2))]
    return grid_of("classes", title=f"Class by class: {subject['name']}", fields=fields, entries=entries)


def class_records(report: Mapping[str, Any]) -> Grid:
    """One line for every model and class, for programs."""
    entries = [{**row, "model": entry["name"]} for entry in report["models"] for row in entry["per_class"] or []]
    model = Field(heading="model", text=lambda row: str(row["model"]), values={"model": named("model")}, is_words=True)
    return grid_of("classes", title="Class by class", fields=[model, *OF_A_CLASS], entries=entries)


def hardest(grid: Grid, *, most: int, rest: str = "; all of them: --table classes") -> Grid:
    """The table with at most `most` classes, those with the lowest F1, and a note about the others."""
    classes = [line for line in grid.lines if line.role != "mean"]
    if len(classes) <= most:
        return grid
    kept = sorted(classes, key=_f1)[:most]
    lines = [line for line in grid.lines if line in kept or line.role == "mean"]
    note = f"the {most} classes with the lowest F1 … and {len(classes) - most:,} more{rest}"
    return replace(grid, lines=tuple(lines), caption=note)


def _f1(line: Line) -> float:
    return float(line.values["f1"])


def _f1_of(entry: Entry, rank: int) -> Field:
    name = entry["name"]
    return Field(
        heading=f"F1 {name}",
        text=lambda row: wording.percent(row["others"][name]),
        values={f"f1 {name}": lambda row: row["others"][name]},
        rank=rank,
    )


OF_A_CLASS = [
    Field(heading="class", text=lambda row: str(row["label"]), values={"label": named("label")}, is_words=True),
    percents("precision", "precision"),
    percents("recall", "recall"),
    percents("F1", "f1"),
    Field(heading="rows", text=lambda row: f"{row['support']:,}", values={"support": named("support")}),
]
