"""Names beside the points of a picture, where they are in nobody's way."""

from collections.abc import Iterator, Sequence
from math import hypot
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limbeck.report.plots.drawing import INK

FONT_SIZE = 8
GAP = 8.0  # typographic points from the middle of a mark to its name
HALF_MARK, HALF_LINE = 5.0, 0.7
LEAN = 5.0  # a line that rises from left to right has room below on its right, and above on its left
SHIFTS = (0.0, 5.0, -5.0, 10.0, -10.0, 15.0, -15.0, 22.0, -22.0, 30.0, -30.0, 40.0, -40.0)
FAR = 12.0  # a name whose edge is so far from its mark is tied to it by a line
PER_SQUARE_POINT, WRONG_NEIGHBOUR = 10.0, 40.0  # what it costs to cover something, or to stand nearer to another mark

Place = tuple[float, float]


class Box(NamedTuple):
    """A rectangle of the page, in typographic points."""

    left: float
    bottom: float
    right: float
    top: float

    def covers(self, other: "Box") -> float:
        """The area that both take."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)

    def distance(self, place: Place) -> float:
        """From its nearest edge; 0 within."""
        x, y = place
        return hypot(max(self.left - x, 0.0, x - self.right), max(self.bottom - y, 0.0, y - self.top))

    @property
    def area(self) -> float:
        """In square points."""
        return (self.right - self.left) * (self.top - self.bottom)


def label_points(
    figure: Figure, axes: Axes, points: Sequence[Place], *, names: Sequence[str], levels: Sequence[float] = ()
) -> None:
    """Names beside their points, where they cover no mark and no other name; one that stands far off has a line.

    `levels` are heights at which a line crosses the whole picture.
    """
    if not points:
        return
    figure.draw_without_rendering()  # the layout must stand before places on the page can be told
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
    """Where names of these sizes go: crowded marks choose first, each the cheapest of the spots around it."""
    marks = [Box(x - HALF_MARK, y - HALF_MARK, x + HALF_MARK, y + HALF_MARK) for x, y in places]
    chosen: dict[int, Box] = {}
    for number in sorted(range(len(places)), key=lambda number: (_room(number, places), number)):
        taken = [*(mark for other, mark in enumerate(marks) if other != number), *chosen.values(), *lines]
        others = [place for other, place in enumerate(places) if other != number]
        spots = _spots(places[number], sizes[number])
        chosen[number] = min(
            ((cost + _in_the_way(box, places[number], taken, others, frame), box) for cost, box in spots),
            key=lambda found: found[0],
        )[1]
    return [chosen[number] for number in range(len(places))]


def _room(number: int, places: Sequence[Place]) -> float:
    """How far the nearest other mark is."""
    x, y = places[number]
    return min((hypot(x - a, y - b) for other, (a, b) in enumerate(places) if other != number), default=float("inf"))


def _spots(place: Place, size: Place) -> Iterator[tuple[float, Box]]:
    """Right of the mark, left, above and below it, and what each costs before one looks who else is there."""
    (x, y), (width, height) = place, size
    for shift in SHIFTS:
        for cost, left, lean in ((0.0, x + GAP, -LEAN), (2.0, x - GAP - width, LEAN)):
            bottom = y + lean + shift - height / 2
            yield cost + abs(shift), Box(left, bottom, left + width, bottom + height)
    for bottom in (y + GAP, y - GAP - height):
        yield 6.0, Box(x - width / 2, bottom, x + width / 2, bottom + height)


def _in_the_way(box: Box, place: Place, taken: Sequence[Box], others: Sequence[Place], frame: Box) -> float:
    """What a name would cover, or stick out of the picture by; and whether it would be taken for another mark's."""
    covered = sum(box.covers(other) for other in taken) + box.area - box.covers(frame)
    nearer = any(box.distance(other) <= box.distance(place) for other in others)
    return PER_SQUARE_POINT * covered + WRONG_NEIGHBOUR * nearer
