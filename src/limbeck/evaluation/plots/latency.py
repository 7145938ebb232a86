"""Accuracy against the time of one text, with the models that no other beats in both."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from limbeck.evaluation import wording
from limbeck.evaluation.plots.drawing import COLOURS, DASHED, INK, MARKERS, canvas, drawing, end_at_all, short, svg
from limbeck.evaluation.plots.names import label_points

SIDE_MARGIN, LEAST_FACTOR = 0.36, 1.5  # room for names on the axis of time: a share of it, and at least a factor
NARROW = 20.0  # an axis of time that ends at so many times its beginning may hold a single power of ten
SIZES = {"teacher": 150.0}
SIZE = 46.0
TIME = "milliseconds for one text (p50, log scale)"


def accuracy_against_latency(report: Mapping[str, Any]) -> str:
    """Every model as a labelled point: up is better, left is faster; the teacher has a mark of its own.

    A teacher that was not timed is a line at its height; one that was not judged is left out.
    """
    judged = [entry for entry in report["models"] if entry["accuracy"] is not None]
    timed = [entry for entry in judged if entry["latency_ms"]]
    with drawing():
        figure, axes = canvas(xlabel=TIME, ylabel=f"{wording.measure(report)} (%)")
        points = [point_of(entry) for entry in timed]
        set_time_axis(axes, [milliseconds for milliseconds, _ in points])
        for entry, point in zip(timed, points, strict=True):
            draw_model(axes, entry, point, colour=COLOURS[entry["role"]])
        for entry in judged:
            if not entry["latency_ms"]:
                _draw_level(axes, 100 * entry["accuracy"], name=entry["name"])
        draw_front(axes, points)
        axes.margins(y=0.15)
        end_at_all(axes)
        label_points(figure, axes, points, names=[short(entry["name"]) for entry in timed])
        return svg(figure, name="latency", title=f"{wording.measure(report)} against time")


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The Pareto front of (time, accuracy): the points that no other is at least as good as in both, by time."""
    kept: list[tuple[float, float]] = []
    for time, accuracy in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not kept or accuracy > kept[-1][1]:
            kept.append((time, accuracy))
    return kept


def point_of(entry: Mapping[str, Any]) -> tuple[float, float]:
    """Where a model stands in the picture."""
    return entry["latency_ms"]["p50"], 100 * entry["accuracy"]


def draw_front(axes: Axes, points: Sequence[tuple[float, float]]) -> None:
    """A thin line along the models that are worth choosing among."""
    best = front(points)
    if len(best) > 1:
        times, accuracies = zip(*best, strict=True)
        axes.plot(times, accuracies, color=INK, alpha=0.45, linewidth=1.0, zorder=1, gid="front")


def draw_model(axes: Axes, entry: Mapping[str, Any], point: tuple[float, float], *, colour: str) -> None:
    """The mark of a model, and its interval as a bar."""
    role = entry["role"]
    if entry["accuracy_ci95"]:
        axes.vlines(
            point[0], *(100 * bound for bound in entry["accuracy_ci95"]), color=colour, alpha=0.5, linewidth=1.2
        )
    axes.scatter([point[0]], [point[1]], s=SIZES.get(role, SIZE), color=colour, marker=MARKERS[role], zorder=3)


def set_time_axis(axes: Axes, times: Sequence[float]) -> None:
    """A logarithmic axis with room for names; matplotlib's own choice of limits stumbles over a single point."""
    low, high = min(times, default=1.0), max(times, default=1.0)
    factor = max((high / low) ** SIDE_MARGIN, LEAST_FACTOR)
    low, high = low / factor, high * factor
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high / low < NARROW else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_level(axes: Axes, accuracy: float, *, name: str) -> None:
    """A teacher without a place on the axis of time."""
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
