"""Accuracy against the time of one text, or against size, with the models that no other beats in both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from limbeck.report import wording
from limbeck.report.plots.drawing import COLOURS, DASHED, INK, MARKERS, PALETTE, canvas, drawing, end_at_100, short, svg

SIDE_MARGIN, MIN_FACTOR = 0.36, 1.5  # space for names on the cost axis: a share of it, and at least a factor
NARROW = 20.0  # a cost axis with a smaller ratio of its ends may have only one power of ten
AREAS = {"teacher": 150.0}  # of a mark, by role
AREA = 46.0

Point = tuple[float, float]  # cost, accuracy in %


@dataclass(frozen=True)
class Cost:
    """A cost of a model, and how it is named."""

    name: str  # of the plot
    word: str
    axis: str
    of: Callable[[Mapping[str, Any]], float | None]  # None if it is not known


TIME = Cost(
    name="latency",
    word="time",
    axis="milliseconds for one text (p50, log scale)",
    of=lambda entry: entry["latency_ms"]["p50"] if entry["latency_ms"] else None,
)
SIZE = Cost(name="size", word="size", axis="megabytes on disk (log scale)", of=lambda entry: entry["size_mb"])


def accuracy_against(report: Mapping[str, Any], cost: Cost) -> str:
    """Every model as a labelled point: up is better, left is cheaper; the teacher has its own mark.

    A teacher whose cost is not known is a horizontal line; one without an accuracy is omitted.
    """
    judged = [entry for entry in report["models"] if wording.headline(entry) is not None]
    points = [point_of(entry, cost) for entry in judged]
    placed = [(entry, point) for entry, point in zip(judged, points, strict=True) if point is not None]
    with drawing():
        figure, axes = canvas(xlabel=cost.axis, ylabel=wording.axis(report))
        set_cost_axis(axes, [amount for _, (amount, _) in placed])
        for entry, point in placed:
            draw_model(axes, entry, point, colour=COLOURS[entry["role"]])
        for entry, known in zip(judged, points, strict=True):
            if known is None:
                _draw_level(axes, 100 * (wording.headline(entry) or 0.0), name=entry["name"])
        draw_front(axes, [point for _, point in placed])
        axes.margins(y=0.15)
        end_at_100(axes)
        label_points(
            figure,
            axes,
            [point for _, point in placed],
            names=[short(entry["name"]) for entry, _ in placed],
            levels=[
                100 * (wording.headline(entry) or 0.0)
                for entry, known in zip(judged, points, strict=True)
                if known is None
            ],
        )
        return svg(figure, name=cost.name, title=f"{wording.measure(report)} against {cost.word}")


def front(points: Sequence[Point]) -> list[Point]:
    """The Pareto front of (cost, accuracy), sorted by cost: points for which no other is at least as good in both."""
    kept: list[Point] = []
    for amount, accuracy in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not kept or accuracy > kept[-1][1]:
            kept.append((amount, accuracy))
    return kept


def point_of(entry: Mapping[str, Any], cost: Cost) -> Point | None:
    """The position of a model in the plot; None without an accuracy or a known cost."""
    amount, reached = cost.of(entry), wording.headline(entry)
    return None if reached is None or not amount else (amount, 100 * reached)


def draw_front(axes: Axes, points: Sequence[Point]) -> None:
    """A thin line along the Pareto front."""
    best = front(points)
    if len(best) > 1:
        amounts, accuracies = zip(*best, strict=True)
        axes.plot(amounts, accuracies, color=INK, alpha=0.45, linewidth=1.0, zorder=1, gid="front")


def draw_model(axes: Axes, entry: Mapping[str, Any], point: Point, *, colour: str) -> None:
    """The mark of a model, and its interval as a bar."""
    role = entry["role"]
    if bounds := wording.headline_interval(entry):
        axes.vlines(point[0], *(100 * bound for bound in bounds), color=colour, alpha=0.5, linewidth=1.2)
    axes.scatter([point[0]], [point[1]], s=AREAS.get(role, AREA), color=colour, marker=MARKERS[role], zorder=3)


def set_cost_axis(axes: Axes, amounts: Sequence[float]) -> None:
    """A logarithmic axis with space for names; matplotlib's own limits fail for a single point."""
    low, high = min(amounts, default=1.0), max(amounts, default=1.0)
    factor = max((high / low) ** SIDE_MARGIN, MIN_FACTOR)
    low, high = low / factor, high * factor
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if high / low < NARROW else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_level(axes: Axes, accuracy: float, *, name: str) -> None:
    """A teacher without a position on the cost axis."""
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


FONT_SIZE = 8
GAP = 8.0  # typographic points from the middle of a mark to its name
HALF_MARK, HALF_LINE = 5.0, 0.7
LEAN = 5.0  # next to a rising line there is space below on the right, and above on the left
SHIFTS = (0.0, 5.0, -5.0, 10.0, -10.0, 15.0, -15.0, 22.0, -22.0, 30.0, -30.0, 40.0, -40.0)
FAR = 12.0  # a name further than this from its mark is connected to it by a line
PER_SQUARE_POINT, NEARER_TO_ANOTHER = 10.0, 40.0  # penalty for covering something, or being nearer to another mark

Place = tuple[float, float]


class Box(NamedTuple):
    """A rectangle of the page, in typographic points."""

    left: float
    bottom: float
    right: float
    top: float

    def covers(self, other: "Box") -> float:
        """The area of the intersection."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)

    def distance(self, place: Place) -> float:
        """The distance from the nearest edge; 0 inside."""
        x, y = place
        return hypot(max(self.left - x, 0.0, x - self.right), max(self.bottom - y, 0.0, y - self.top))

    @property
    def area(self) -> float:
        """In square points."""
        return (self.right - self.left) * (self.top - self.bottom)


def label_points(
    figure: Figure, axes: Axes, points: Sequence[Place], *, names: Sequence[str], levels: Sequence[float] = ()
) -> None:
    """Put names next to their points, where they cover no mark and no other name; a distant one gets a line.

    `levels` are heights at which a horizontal line crosses the plot.
    """
    if not points:
        return
    figure.draw_without_rendering()  # positions on the page are known only after the layout
    scale = 72 / figure.dpi
    places = [(float(x), float(y)) for x, y in axes.transData.transform(points) * scale]
    frame = Box(*(float(edge) * scale for edge in axes.bbox.extents))
    heights = [float(axes.transData.transform((points[0][0], level))[1]) * scale for level in levels]
    lines = [Box(frame.left, height - HALF_LINE, frame.right, height + HALF_LINE) for height in heights]
    boxes = named_boxes(places, [_size(axes, name, scale) for name in names], frame=frame, lines=lines)
    for name, point, (x, y), box in zip(names, points, places, boxes, strict=True):
        tie = {"arrowstyle": "-", "color": INK, "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0.0, "shrinkB": HALF_MARK}
        axes.annotate(
            name,
            xy=point,
            xytext=(box.left - x, (box.bottom + box.top) / 2 - y),
            textcoords="offset points",
            ha="left",
            va="center",
            color=INK,
            fontsize=FONT_SIZE,
            arrowprops=tie if box.distance((x, y)) > FAR else None,
        )


def _size(axes: Axes, name: str, scale: float) -> Place:
    text = axes.text(0, 0, name, fontsize=FONT_SIZE, transform=None)
    extent = text.get_window_extent()
    text.remove()
    return float(extent.width) * scale, float(extent.height) * scale


def named_boxes(places: Sequence[Place], sizes: Sequence[Place], *, frame: Box, lines: Sequence[Box] = ()) -> list[Box]:
    """Positions for names of these sizes: crowded marks choose first, each the cheapest of the spots around it."""
    marks = [Box(x - HALF_MARK, y - HALF_MARK, x + HALF_MARK, y + HALF_MARK) for x, y in places]
    chosen: dict[int, Box] = {}
    for number in sorted(range(len(places)), key=lambda number: (_nearest_distance(number, places), number)):
        taken = [*(mark for other, mark in enumerate(marks) if other != number), *chosen.values(), *lines]
        others = [place for other, place in enumerate(places) if other != number]
        spots = _spots(places[number], sizes[number])
        chosen[number] = min(
            ((cost + _overlap_cost(box, places[number], taken, others, frame), box) for cost, box in spots),
            key=lambda found: found[0],
        )[1]
    return [chosen[number] for number in range(len(places))]


def _nearest_distance(number: int, places: Sequence[Place]) -> float:
    """The distance to the nearest other mark."""
    x, y = places[number]
    return min((hypot(x - a, y - b) for other, (a, b) in enumerate(places) if other != number), default=float("inf"))


def _spots(place: Place, size: Place) -> Iterator[tuple[float, Box]]:
    """Spots right, left, above and below the mark, each with its cost before overlaps are counted."""
    (x, y), (width, height) = place, size
    for shift in SHIFTS:
        for cost, left, lean in ((0.0, x + GAP, -LEAN), (2.0, x - GAP - width, LEAN)):
            bottom = y + lean + shift - height / 2
            yield cost + abs(shift), Box(left, bottom, left + width, bottom + height)
    for bottom in (y + GAP, y - GAP - height):
        yield 6.0, Box(x - width / 2, bottom, x + width / 2, bottom + height)


def _overlap_cost(box: Box, place: Place, taken: Sequence[Box], others: Sequence[Place], frame: Box) -> float:
    """The cost of covering other things, of leaving the plot, and of being nearer to another mark."""
    covered = sum(box.covers(other) for other in taken) + box.area - box.covers(frame)
    nearer = any(box.distance(other) <= box.distance(place) for other in others)
    return PER_SQUARE_POINT * covered + NEARER_TO_ANOTHER * nearer


MARKS = {"teacher": "*", "rival": "s", "baseline": "x", "student": "o", "export": "D"}
NAMES = {"teacher": "teacher", "rival": "tfidf", "baseline": "alone", "student": "student", "export": "int8 file"}
RUN_AREAS = {"teacher": 110.0}  # of a mark, by role
RUN_AREA = 40.0


def accuracy_of_runs(runs: Sequence[tuple[str, Mapping[str, Any]]], cost: Cost = TIME) -> str:
    """All models of all runs: a colour per run, a mark per role, and the Pareto front."""
    with drawing():
        figure, axes = canvas(xlabel=cost.axis, ylabel=wording.axis(runs[0][1]), height=3.6)
        placed = [
            (number, entry, point)
            for number, (_, report) in enumerate(runs)
            for entry in report["models"]
            if (point := point_of(entry, cost)) is not None
        ]
        points = [point for _, _, point in placed]
        set_cost_axis(axes, [amount for amount, _ in points])
        for number, entry, (amount, accuracy) in placed:
            axes.scatter(
                [amount],
                [accuracy],
                s=RUN_AREAS.get(entry["role"], RUN_AREA),
                color=PALETTE[number % len(PALETTE)],
                marker=MARKS[entry["role"]],
                zorder=3,
            )
        draw_front(axes, points)
        axes.margins(y=0.12)
        end_at_100(axes)
        handles = [
            Line2D([], [], color=PALETTE[number % len(PALETTE)], linewidth=3, label=short(name))
            for number, (name, _) in enumerate(runs)
        ]
        roles = [role for role in MARKS if any(entry["role"] == role for _, entry, _ in placed)]
        handles += [
            Line2D([], [], color=INK, linestyle="none", marker=MARKS[role], markersize=5, label=NAMES[role])
            for role in roles
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, labelcolor=INK, fontsize=8)
        return svg(figure, name=f"runs-{cost.name}", title=f"all models of all runs: accuracy against {cost.word}")
