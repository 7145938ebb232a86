"""Names beside the points of a picture, where they are in nobody's way."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limbeck.evaluation.plots.drawing import INK

LABEL_WIDTH, LABEL_HEIGHT = 80.0, 12.0  # typographic points that a name takes beside its mark
LEAN = 5.0  # a line that rises from left to right has room below on its right, and above on its left


def label_points(figure: Figure, axes: Axes, points: Sequence[tuple[float, float]], *, names: Sequence[str]) -> None:
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
                xytext=(-8 if left else 8, height - places[number][1] + (LEAN if left else -LEAN)),
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
