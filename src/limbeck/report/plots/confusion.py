"""Which class a model takes for which."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from limbeck.report.plots.drawing import COLOURS, INK, canvas, drawing, short, svg

MOST_WITH_NUMBERS = 10  # more classes are drawn in colour alone
MOST_CLASSES = 30  # more are not drawn
DARKEST = 0.7  # so that numbers stay legible on every cell, in light and in dark
LONGEST_LABEL = 14  # characters of a class on the axes


def confusion(entry: Mapping[str, Any], *, labels: Sequence[str], name: str) -> str | None:
    """True classes down, the model's across; a cell is as dark as its share of the row. None where it is not known."""
    counts = entry.get("confusion")
    if not counts or len(labels) > MOST_CLASSES:
        return None
    classes = len(labels)
    with drawing():
        figure, axes = canvas(xlabel=f"what {short(entry['name'])} says", ylabel="true class", height=3.4)
        axes.grid(visible=False)
        axes.set(xlim=(-0.5, classes - 0.5), ylim=(classes - 0.5, -0.5), aspect="equal")
        _draw_cells(axes, counts, colour=COLOURS[entry["role"]])
        shown = [short(label, most=LONGEST_LABEL) for label in labels]
        size = 8 if classes <= MOST_WITH_NUMBERS else 5.5
        steep = max(len(label) for label in shown) * classes > LONGEST_LABEL * 2
        axes.set_xticks(range(classes), shown, fontsize=size, rotation=90 if steep else 0)
        axes.set_yticks(range(classes), shown, fontsize=size, rotation=0 if steep else 90, va="center")
        axes.tick_params(length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        return svg(figure, name=name, title=f"confusion matrix of {entry['name']}")


def most_confused(entry: Mapping[str, Any], *, labels: Sequence[str], most: int) -> list[tuple[str, str, int]]:
    """The true class, what the model said, and how often, of its commonest mistakes."""
    counts = entry.get("confusion") or []
    mistakes = [
        (labels[true], labels[said], rows)
        for true, line in enumerate(counts)
        for said, rows in enumerate(line)
        if true != said and rows
    ]
    return sorted(mistakes, key=lambda mistake: -mistake[2])[:most]


def _draw_cells(axes: Axes, counts: Sequence[Sequence[int]], *, colour: str) -> None:
    for true, line in enumerate(counts):
        total = sum(line)
        for said, rows in enumerate(line):
            share = rows / total if total else 0.0
            cell = Rectangle(
                (said - 0.47, true - 0.47), 0.94, 0.94, facecolor=colour, alpha=0.04 + DARKEST * share, lw=0
            )
            axes.add_patch(cell)
            if len(counts) <= MOST_WITH_NUMBERS:
                size = 9 if len(counts) <= 5 else 6
                axes.text(said, true, f"{rows:,}", ha="center", va="center", color=INK, fontsize=size)
