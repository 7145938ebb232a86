"""The pictures of docs/results.md and of the README, as SVG files that can be read on light and on dark pages."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from limbeck.report.plots.against import draw_front, label_points, set_cost_axis
from limbeck.report.plots.drawing import COLOURS, DASHED, INK, MARKERS, PALETTE, canvas, drawing, legend

WIDTH, HEIGHT = 7.2, 4.4  # inches
PAPER = "#ffffff"
DASHES = (DASHED, (0, (1.5, 2.5)))  # of the first teacher, and of another
FEW_DECADES = 30.0
SIDE_ROOM = 2.5  # the axis goes on by this factor beyond its outermost points


class Point(NamedTuple):
    """A model: how many times faster than its teacher, and its accuracy in percent."""

    name: str
    faster: float
    accuracy: float


class Timed(NamedTuple):
    """A model of the README's picture: milliseconds for one text, accuracy in percent, and what it is to the others."""

    name: str
    milliseconds: float
    accuracy: float
    role: str  # a key of COLOURS


class Measured(NamedTuple):
    """A setting of an ablation: its name, its place on the axis, and accuracy with its spread, in percent."""

    name: str
    place: float
    accuracy: float
    spread: float


def accuracy_against_speed(
    ours: Sequence[Point], others: Sequence[Point], *, teachers: Mapping[str, Sequence[float]], file: Path
) -> None:
    """Every model as a named point: up is better, right is faster. A teacher is a line at its height, or as many lines
    as it was fine-tuned times.
    """
    with drawing():
        figure, axes = canvas(
            xlabel="times faster than its teacher, one text at a time (log scale)",
            ylabel="accuracy (%)",
            width=WIDTH,
            height=HEIGHT,
        )
        points = [*ours, *others]
        _set_axis_of_factors(axes, [point.faster for point in points])
        for (name, accuracies), dashes in zip(teachers.items(), cycle(DASHES)):
            for number, accuracy in enumerate(accuracies):
                label = "" if number else name
                axes.axhline(accuracy, color=COLOURS["teacher"], linestyle=dashes, linewidth=1.3, label=label)
        for group, colour, marker, name in (
            (ours, COLOURS["student"], "o", "here"),
            (others, COLOURS["baseline"], "s", "published"),
        ):
            if group:
                axes.scatter(
                    [point.faster for point in group],
                    [point.accuracy for point in group],
                    color=colour,
                    marker=marker,
                    zorder=3,
                    label=name,
                )
        axes.margins(y=0.15)
        legend(axes, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)  # above the plot: a line crosses all of it
        label_points(
            figure,
            axes,
            [(point.faster, point.accuracy) for point in points],
            names=[point.name for point in points],
            levels=[accuracy for accuracies in teachers.values() for accuracy in accuracies],
        )
        _save(figure, file)


def accuracy_against_time(models: Sequence[Timed], *, file: Path, ink: str) -> None:
    """Every model as a named point: up is better, left is faster. No background, letters in the colour `ink`."""
    with drawing():
        figure, axes = canvas(
            xlabel="milliseconds for one text, one CPU thread (log scale)",
            ylabel="accuracy (%)",
            width=WIDTH,
            height=HEIGHT * 0.85,
        )
        points = [(model.milliseconds, model.accuracy) for model in models]
        set_cost_axis(axes, [amount for amount, _ in points])
        for model, (amount, accuracy) in zip(models, points, strict=True):
            marker, area = (MARKERS[model.role], 150.0 if model.role == "teacher" else 46.0)
            axes.scatter([amount], [accuracy], color=COLOURS[model.role], marker=marker, s=area, zorder=3)
        draw_front(axes, points)
        axes.margins(y=0.12)
        label_points(figure, axes, points, names=[model.name for model in models], levels=[])
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    file.write_text(file.read_text(encoding="utf-8").replace(INK, ink), encoding="utf-8")


def accuracy_by_setting(measured: Sequence[Measured], *, xlabel: str, is_number: bool, file: Path) -> None:
    """One ablation: a line over numbers, or a mark for each name; bars are the spread over seeds."""
    with drawing():
        figure, axes = canvas(xlabel=xlabel, ylabel="accuracy (%)", width=WIDTH * 0.7, height=HEIGHT * 0.7)
        axes.errorbar(
            [one.place for one in measured],
            [one.accuracy for one in measured],
            yerr=[one.spread for one in measured],
            color=PALETTE[0],
            marker="o",
            linestyle="-" if is_number else "none",
            capsize=3,
        )
        axes.set_xticks([one.place for one in measured], [one.name for one in measured], color=INK)
        axes.margins(x=0.12, y=0.2)
        _save(figure, file)


def _set_axis_of_factors(axes: Any, factors: Sequence[float]) -> None:
    """A logarithmic axis with room for the names on both sides."""
    axes.set_xscale("log")
    axes.set_xlim(min(factors) / SIDE_ROOM, max(factors) * SIDE_ROOM)
    if max(factors) / min(factors) < FEW_DECADES:  # powers of ten alone would be one number, or none
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _save(figure: Any, file: Path) -> None:
    """The same bytes for the same numbers; on paper of its own, since a page does not tell a picture its colours."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.patch.set_alpha(1)
    figure.savefig(file, format="svg", facecolor=PAPER, metadata={"Date": None, "Creator": None})
