"""A report as tables: quality, relative change, cost, classes; on the terminal or as text (rich, standard library)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.text import Text

from limbeck.report import abstaining, findings, sentences, wording
from limbeck.report.markdown import as_markdown
from limbeck.report.tables.classes import class_records, classes_grid, hardest
from limbeck.report.tables.cost import cost_grid
from limbeck.report.tables.formats import Format, written
from limbeck.report.tables.grid import Grid
from limbeck.report.tables.quality import quality_grid
from limbeck.report.tables.relative import relative_grid
from limbeck.report.tables.scores import residuals_grid, score_quality_grid
from limbeck.report.tables.slices import slices_grid, worst
from limbeck.report.tables.terminal import print_grid

FEW_CLASSES = 12  # at most this many when all tables are printed


class Which(StrEnum):
    """The tables of a report."""

    QUALITY = "quality"
    RELATIVE = "relative"
    COST = "cost"
    CLASSES = "classes"
    SLICES = "slices"
    RESIDUALS = "residuals"
    ALL = "all"


def report_grids(report: Mapping[str, Any], which: Which = Which.ALL) -> list[Grid]:
    """The tables that were asked for; tables without lines are omitted."""
    of_scores = wording.is_score(report)
    made = {
        Which.QUALITY: score_quality_grid if of_scores else quality_grid,
        Which.RELATIVE: relative_grid,
        Which.COST: cost_grid,
        **({Which.RESIDUALS: residuals_grid} if of_scores else CLASS_TABLES),
    }
    grids = [make(report) for name, make in made.items() if which in (name, Which.ALL)]
    return [grid for grid in grids if grid.lines]


def written_report(report: Mapping[str, Any], which: Which, form: Format) -> str:
    """The tables in this format, ending in a line break; for programs the classes of all models, one line each."""
    report = as_markdown(report) if form == Format.MARKDOWN else report
    grids = report_grids(report, which)
    if form in (Format.CSV, Format.JSON):
        grids = [class_records(report) if grid.name == "classes" else grid for grid in grids]
    elif which == Which.ALL:
        grids = [_short(grid) for grid in grids]
    return written(grids, form)


def slices_of_report(report: Mapping[str, Any]) -> Grid:
    """Accuracy on parts of the judged rows; old reports have none."""
    return slices_grid(report.get("slices"), measure=wording.measure(report))


CLASS_TABLES = {Which.CLASSES: classes_grid, Which.SLICES: slices_of_report}


def _short(grid: Grid) -> Grid:
    """As it is among all tables."""
    if grid.name == "slices":
        return worst(grid)
    return hardest(grid, most=FEW_CLASSES) if grid.name == "classes" else grid


def print_report(report: Mapping[str, Any], console: Console, which: Which = Which.ALL) -> None:
    """Print the tables, warnings, and the verdict. On narrow consoles columns are dropped, not broken."""
    for grid in report_grids(report, which):
        print_grid(_short(grid) if which == Which.ALL else grid, console, numbered=grid.name == "relative")
        console.print()
    for warning in findings.warnings(report):
        console.print(Text("warning: ", style="yellow") + Text(warning, style="default"))
    if which == Which.ALL:
        _print_words(report, console)


def _print_words(report: Mapping[str, Any], console: Console) -> None:
    for note in [*findings.notes(report), *sentences.few_rows(report)]:
        console.print(Text("note: ", style="cyan") + Text(note, style="default"))
    cascade = sentences.cascade(report) or sentences.score_cascade(report)
    if cascade:
        console.print(Text(f"Cascade: {cascade}"))
    if (report.get("abstaining") or {}).get("threshold"):
        console.print(Text(f"Abstaining: {' '.join(abstaining.sentences_of(report))}"))
    said = wording.verdict_sentences(report)
    console.print(Text(" ").join(Text(each.text, style="bold red" if each.is_loss else "") for each in said))
