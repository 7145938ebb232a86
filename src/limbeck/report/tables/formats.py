"""Tables as Markdown and LaTeX for people, as CSV and JSON for programs."""

import csv
import io
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from limbeck.progress import visible, visible_json
from limbeck.report.tables.grid import Grid

LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{NO-BREAK SPACE}": "~",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "·": r"$\cdot$",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
}


class Format(StrEnum):
    """How tables can be written."""

    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"


def written(grids: Sequence[Grid], form: Format) -> str:
    """The tables in this format, ending in a line break.

    CSV and JSON have plain numbers, rates as fractions from 0 to 1; in CSV an empty line separates tables.
    """
    match form:
        case Format.MARKDOWN:
            return "\n".join(_markdown(grid, headed=len(grids) > 1) for grid in grids)
        case Format.LATEX:
            return "\n".join(_latex(grid) for grid in grids)
        case Format.CSV:
            return "\n".join(_csv(grid) for grid in grids)
        case Format.JSON:
            return visible_json({grid.name: _records(grid) for grid in grids}) + "\n"


def _markdown(grid: Grid, *, headed: bool) -> str:
    """A table, with a heading if there are several, and the sentences below it."""
    sides = ["---" if field.is_words else "---:" for field in grid.fields]
    lines = [_bars([field.heading for field in grid.fields]), "|" + "|".join(sides) + "|"]
    lines += [_bars(line.cells) for line in grid.lines]
    heading = [f"### {grid.title}", ""] if headed else []
    caption = [f"{grid.explained}."] if grid.explained else []
    notes = [text for note in (*caption, *grid.notes) for text in ("", note)]
    return "\n".join([*heading, *lines, *notes]) + "\n"


def _bars(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"


def _latex(grid: Grid) -> str:
    """A tabular of the booktabs package."""
    sides = "".join("l" if field.is_words else "r" for field in grid.fields)
    lines = [
        f"% {grid.title}; needs \\usepackage{{booktabs}}",
        f"\\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _ampersands([field.heading for field in grid.fields]),
        r"\midrule",
        *(_ampersands(line.cells) for line in grid.lines),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _ampersands(cells: Sequence[str]) -> str:
    lines = (" ".join(visible(cell).splitlines()) for cell in cells)
    return " & ".join("".join(LATEX.get(sign, sign) for sign in line) for line in lines) + r" \\"


def _csv(grid: Grid) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_keys(grid))
    writer.writerows([line.values[key] for key in _keys(grid)] for line in grid.lines)
    return text.getvalue()


def _records(grid: Grid) -> list[dict[str, Any]]:
    return [dict(line.values) for line in grid.lines]


def _keys(grid: Grid) -> list[str]:
    return [key for field in grid.fields for key in field.values]
