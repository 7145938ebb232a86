"""The report's pictures as SVG text: the same numbers give the same bytes, and ink follows the page's colour."""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from limbeck.evaluation import wording

INK = "#010203"  # a colour nobody would choose: it becomes CSS's currentColor in the finished text
COLOURS = {"teacher": "#d9822b", "baseline": "#8a8f98", "student": "#3b82d6", "export": "#2fa36b"}  # for light and dark
MARKERS = {"teacher": "*", "baseline": "o", "student": "o", "export": "D"}
DASHED = (0, (6, 4))
SEED_DASHES = ("-", "--", ":", "-.")
WIDTH, HEIGHT = 4.2, 3.0  # inches: narrow, so that letters stay legible on a phone
SIDE_MARGIN, LEAST_FACTOR = 0.36, 1.5  # room for names on the axis of time: a share of it, and at least a factor
NARROW = 20.0  # an axis of time that ends at so many times its beginning may hold a single power of ten
LABEL_WIDTH, LABEL_HEIGHT = 80.0, 12.0  # typographic points that a name takes beside its mark
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "limbeck", "text.parse_math": False, "font.size": 9}


def accuracy_against_latency(report: Mapping[str, Any]) -> str:
    """Every model as a labelled point: up is better, left is faster; the teacher has a mark of its own.

    A teacher that was not timed is a line at its height; one that was not judged is left out.
    """
    judged = [entry for entry in report["models"] if entry["accuracy"] is not None]
    timed = [entry for entry in judged if entry["latency_ms"]]
    with _drawing():
        figure, axes = _canvas(
            xlabel="milliseconds for one text (p50, log scale)", ylabel=f"{wording.measure(report)} (%)"
        )
        axes.set_xscale("log")
        points = [(entry["latency_ms"]["p50"], 100 * entry["accuracy"]) for entry in timed]
        low, high = _time_limits([milliseconds for milliseconds, _ in points])
        axes.set_xlim(low, high)
        for entry, (milliseconds, accuracy) in zip(timed, points, strict=True):
            bounds = [100 * bound for bound in entry["accuracy_ci95"]]
            colour, role = COLOURS[entry["role"]], entry["role"]
            axes.vlines(milliseconds, *bounds, color=colour, alpha=0.5, linewidth=1.2)
            size = 150 if role == "teacher" else 46
            axes.scatter([milliseconds], [accuracy], s=size, color=colour, marker=MARKERS[role], zorder=3)
        for entry in judged:
            if not entry["latency_ms"]:
                _draw_level(axes, 100 * entry["accuracy"], name=entry["name"])
        axes.margins(y=0.15)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high / low < NARROW else (1,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        _label_points(figure, axes, points, names=[entry["name"] for entry in timed])
        return _svg(figure, prefix="latency")


def training_accuracy(report: Mapping[str, Any]) -> str:
    """Accuracy on dev after every epoch, one line per student and seed; the teacher's as a dashed line."""
    with _drawing():
        figure, axes = _canvas(xlabel="epoch", ylabel=f"{wording.measure(report)} on dev (%)")
        _draw_curves(axes, report["curves"], key="dev_accuracy", scale=100)
        teacher = wording.teacher_of(report)
        if teacher.get("dev_accuracy") is not None:
            axes.axhline(100 * teacher["dev_accuracy"], color=COLOURS["teacher"], linestyle=DASHED, label="teacher")
        _legend(axes)
        return _svg(figure, prefix="curve")


def training_loss(report: Mapping[str, Any]) -> str:
    """The training loss of the same students; each has its own objective, so only the shapes compare."""
    with _drawing():
        figure, axes = _canvas(xlabel="epoch", ylabel="training loss (own objective, log scale)")
        _draw_curves(axes, report["curves"], key="loss", scale=1)
        losses = [epoch["loss"] for curve in report["curves"] for epoch in curve["epochs"]]
        if losses and min(losses) > 0:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_locator(MaxNLocator(5))
        _legend(axes)
        return _svg(figure, prefix="loss")


@contextmanager
def _drawing() -> Iterator[None]:
    """Our settings while a picture is drawn. Letters stay text, so it does not matter which of them a font lacks."""
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _canvas(*, xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """An empty plot; no pyplot, so nothing is left behind in the process."""
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    axes.set_xlabel(xlabel, color=INK)
    axes.set_ylabel(ylabel, color=INK)
    axes.tick_params(which="both", colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.grid(visible=True, color=INK, alpha=0.12, linewidth=0.6)
    return figure, axes


def _time_limits(times: Sequence[float]) -> tuple[float, float]:
    """Where a logarithmic axis begins and ends; matplotlib's own choice stumbles over a single point."""
    low, high = min(times, default=1.0), max(times, default=1.0)
    factor = max((high / low) ** SIDE_MARGIN, LEAST_FACTOR)
    return low / factor, high * factor


def _draw_level(axes: Axes, accuracy: float, *, name: str) -> None:
    """A teacher without a place on the axis of time."""
    axes.axhline(accuracy, color=COLOURS["teacher"], linestyle=DASHED, linewidth=1.3)
    axes.annotate(
        name,
        xy=(1, accuracy),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=INK,
        fontsize=8,
    )


def _draw_curves(axes: Axes, curves: Sequence[Mapping[str, Any]], *, key: str, scale: float) -> None:
    """One colour per role, one dash pattern per seed, one name in the legend per student."""
    named: dict[str, int] = {}
    for curve in curves:
        of_this_name = named.get(curve["name"], 0)
        axes.plot(
            [epoch["epoch"] for epoch in curve["epochs"]],
            [scale * epoch[key] for epoch in curve["epochs"]],
            color=COLOURS[curve["role"]],
            linestyle=SEED_DASHES[of_this_name % len(SEED_DASHES)],
            marker="o",
            markersize=3,
            linewidth=1.3,
            label=None if of_this_name else curve["name"],
        )
        named[curve["name"]] = of_this_name + 1
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, labelcolor=INK, fontsize=8)


def _label_points(figure: Figure, axes: Axes, points: Sequence[tuple[float, float]], *, names: Sequence[str]) -> None:
    """Names beside their points, on the side that is free, pushed apart where they would overlap."""
    if not points:
        return
    figure.draw_without_rendering()  # the layout must stand before places on the page can be told
    points_per_pixel = 72 / figure.dpi
    places = [(float(x), float(y)) for x, y in axes.transData.transform(points) * points_per_pixel]
    right_edge = axes.bbox.x1 * points_per_pixel
    to_the_left = [_left_is_better(place, places, right_edge=right_edge) for place in places]
    for left in (False, True):
        lowest_free = float("-inf")
        for number in sorted(range(len(places)), key=lambda number: places[number][1]):
            if to_the_left[number] != left:
                continue
            height = max(places[number][1], lowest_free)
            lowest_free = height + LABEL_HEIGHT
            axes.annotate(
                names[number],
                xy=points[number],
                xytext=(-8 if left else 8, height - places[number][1]),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                color=INK,
                fontsize=8,
            )


def _left_is_better(place: tuple[float, float], places: Sequence[tuple[float, float]], *, right_edge: float) -> bool:
    """Whether a name to the right would leave the plot or run into another mark."""
    x, y = place
    in_the_way = any(0 < other_x - x < LABEL_WIDTH and abs(other_y - y) < LABEL_HEIGHT for other_x, other_y in places)
    return in_the_way or x + LABEL_WIDTH > right_edge


def _svg(figure: Figure, *, prefix: str) -> str:
    """The figure as an element to put into a page: no prolog, no dates, ids that no other picture has."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
