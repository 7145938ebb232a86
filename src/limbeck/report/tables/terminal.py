"""A table on a terminal of any width: columns are dropped by rank, never broken."""

from dataclasses import replace
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from limbeck.report.tables.grid import ALWAYS, Grid

ROLE_STYLES = {"teacher": "yellow", "rival": "magenta", "baseline": "dim", "best": "bold", "mean": "dim"}
WIDE_GAP, NARROW_GAP = 2, 1  # characters between two columns


def print_grid(grid: Grid, console: Console, *, numbered: bool = False) -> None:
    """Print the title, the columns that fit, and the sentences below; `numbered` tables may have numbers as
    headings."""
    if numbered and total_width(grid, gap=NARROW_GAP) > console.width:
        grid = with_numbers(grid)
    gap = WIDE_GAP if total_width(grid, gap=WIDE_GAP) <= console.width else NARROW_GAP
    shown = grid.at(fitting(grid, width=console.width, gap=gap))
    table = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False)
    for field in shown.fields:
        side: Literal["left", "right"] = "left" if field.is_words else "right"
        table.add_column(Text(field.heading), justify=side, no_wrap=not field.is_words, overflow="fold")
    for line in shown.lines:
        table.add_row(*(Text(cell) for cell in line.cells), style=ROLE_STYLES.get(line.role, ""))
    console.print(Text(grid.title, style="bold"))
    console.print(table)
    if shown.explained:
        console.print(Text(f"{shown.explained}.", style="dim"))
    for note in grid.notes:
        console.print(Text(note))


def fitting(grid: Grid, *, width: int, gap: int) -> list[int]:
    """The columns that fit side by side, added in the order of their rank."""
    widths = _widths(grid)
    kept = {column for column, field in enumerate(grid.fields) if field.rank == ALWAYS}
    for column in sorted(range(len(widths)), key=lambda column: grid.fields[column].rank):
        wanted = kept | {column}
        if sum(widths[place] for place in wanted) + gap * (len(wanted) - 1) <= width:
            kept = wanted
        elif column not in kept:
            break
    return sorted(kept)


def total_width(grid: Grid, *, gap: int) -> int:
    """The width of a line with all columns, in characters."""
    widths = _widths(grid)
    return sum(widths) + gap * (len(widths) - 1)


def with_numbers(grid: Grid) -> Grid:
    """A matrix whose headings are the numbers of its lines, because the names are too wide."""
    fields = [replace(field, heading=str(place) if place else "") for place, field in enumerate(grid.fields)]
    lines = [
        replace(line, cells=(f"{place} {line.cells[0]}", *line.cells[1:]))
        for place, line in enumerate(grid.lines, start=1)
    ]
    return replace(grid, fields=tuple(fields), lines=tuple(lines))


def _widths(grid: Grid) -> list[int]:
    """The width of each column; a Chinese character counts as two."""
    return [
        max(cell_len(text) for text in (field.heading, *(line.cells[column] for line in grid.lines)))
        for column, field in enumerate(grid.fields)
    ]
