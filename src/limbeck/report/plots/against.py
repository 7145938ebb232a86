"""Accuracy against the time of one text, or against size, with the models that no other beats in both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from limbeck.report import wording
from limbeck.report.plots.drawing import COLOURS, DASHED, INK, MARKERS, canvas, drawing, end_at_all, short, svg
from limbeck.report.plots.names import label_points

SIDE_MARGIN, LEAST_FACTOR = 0.36, 1.5  # room for names on the axis of cost: a share of it, and at least a factor
NARROW = 20.0  # an axis of cost that ends at so many times its beginning may hold a single power of ten
AREAS = {"teacher": 150.0}  # of a mark, by role
AREA = 46.0

Point = tuple[float, float]  # cost, accuracy in %


@dataclass(frozen=True)
class Cost:
    """What a model takes, and how it is told."""

    name: str  # of the picture
    word: str
    axis: str
    of: Callable[[Mapping[str, Any]], float | None]  # None where it is not known


TIME = Cost(
    name="latency",
    word="time",
    axis="milliseconds for one text (p50, log scale)",
    of=lambda entry: entry["latency_ms"]["p50"] if entry["latency_ms"] else None,
)
SIZE = Cost(name="size", word="size", axis="megabytes on disk (log scale)", of=lambda entry: entry["size_mb"])


def accuracy_against(report: Mapping[str, Any], cost: Cost) -> str:
    """Every model as a labelled point: up is better, left is less; the teacher has a mark of its own.

    A teacher whose cost is not known is a line at its height; one that was not judged is left out.
    """
    judged = [entry for entry in report["models"] if entry["accuracy"] is not None]
    points = [point_of(entry, cost) for entry in judged]
    placed = [(entry, point) for entry, point in zip(judged, points, strict=True) if point is not None]
    with drawing():
        figure, axes = canvas(xlabel=cost.axis, ylabel=f"{wording.measure(report)} (%)")
        set_cost_axis(axes, [amount for _, (amount, _) in placed])
        for entry, point in placed:
            draw_model(axes, entry, point, colour=COLOURS[entry["role"]])
        for entry, known in zip(judged, points, strict=True):
            if known is None:
                _draw_level(axes, 100 * entry["accuracy"], name=entry["name"])
        draw_front(axes, [point for _, point in placed])
        axes.margins(y=0.15)
        end_at_all(axes)
        label_points(
            figure,
            axes,
            [point for _, point in placed],
            names=[short(entry["name"]) for entry, _ in placed],
            levels=[100 * entry["accuracy"] for entry, known in zip(judged, points, strict=True) if known is None],
        )
        return svg(figure, name=cost.name, title=f"{wording.measure(report)} against {cost.word}")


def front(points: Sequence[Point]) -> list[Point]:
    """The Pareto front of (cost, accuracy): the points that no other is at least as good as in both, by cost."""
    kept: list[Point] = []
    for amount, accuracy in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not kept or accuracy > kept[-1][1]:
            kept.append((amount, accuracy))
    return kept


def point_of(entry: Mapping[str, Any], cost: Cost) -> Point | None:
    """Where a model stands in the picture; None for one that was not judged, or whose cost is not known."""
    amount = cost.of(entry)
    return None if entry["accuracy"] is None or not amount else (amount, 100 * entry["accuracy"])


def draw_front(axes: Axes, points: Sequence[Point]) -> None:
    """A thin line along the models that are worth choosing among."""
    best = front(points)
    if len(best) > 1:
        amounts, accuracies = zip(*best, strict=True)
        axes.plot(amounts, accuracies, color=INK, alpha=0.45, linewidth=1.0, zorder=1, gid="front")


def draw_model(axes: Axes, entry: Mapping[str, Any], point: Point, *, colour: str) -> None:
    """The mark of a model, and its interval as a bar."""
    role = entry["role"]
    if entry["accuracy_ci95"]:
        axes.vlines(
            point[0], *(100 * bound for bound in entry["accuracy_ci95"]), color=colour, alpha=0.5, linewidth=1.2
        )
    axes.scatter([point[0]], [point[1]], s=AREAS.get(role, AREA), color=colour, marker=MARKERS[role], zorder=3)


def set_cost_axis(axes: Axes, amounts: Sequence[float]) -> None:
    """A logarithmic axis with room for names; matplotlib's own choice of limits stumbles over a single point."""
    low, high = min(amounts, default=1.0), max(amounts, default=1.0)
    factor = max((high / low) ** SIDE_MARGIN, LEAST_FACTOR)
    low, high = low / factor, high * factor
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high / low < NARROW else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_level(axes: Axes, accuracy: float, *, name: str) -> None:
    """A teacher without a place on the axis of cost."""
    axes.axhline(accuracy, color=COLOURS["teacher"], linestyle=DASHED, linewidth=1.3)
    axes.annotate(
        short(name),
        xy=(1, accuracy),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=INK,
        fontsize=8,
    )
