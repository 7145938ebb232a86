"""Names beside marks."""

from itertools import combinations

import pytest
from matplotlib.figure import Figure

from limbeck.report.plots.against import HALF_MARK, Box, label_points, named_boxes

FRAME = Box(0.0, 0.0, 400.0, 300.0)
SIZE = (60.0, 9.0)


def marks_of(places: list[tuple[float, float]]) -> list[Box]:
    return [Box(x - HALF_MARK, y - HALF_MARK, x + HALF_MARK, y + HALF_MARK) for x, y in places]


def test_a_name_is_on_the_right_of_a_mark_that_is_alone() -> None:
    (box,) = named_boxes([(100.0, 100.0)], [SIZE], frame=FRAME)

    assert box.left > 100 + HALF_MARK
    assert box.distance((100.0, 100.0)) < 2 * HALF_MARK


def test_at_the_right_edge_it_is_on_the_left() -> None:
    (box,) = named_boxes([(390.0, 100.0)], [SIZE], frame=FRAME)

    assert box.right < 390 - HALF_MARK


@pytest.mark.parametrize(
    "places",
    [
        [(200.0, 150.0), (206.0, 140.0), (214.0, 133.0), (210.0, 126.0)],  # down a slope, marks nearly touching
        [(200.0, 150.0), (200.0, 150.0)],
        [(200.0, 150.0 + 6 * number) for number in range(5)],
        [(390.0, 290.0), (385.0, 285.0), (5.0, 5.0), (9.0, 12.0)],
    ],
)
def test_names_of_a_crowd_cover_no_mark_and_no_other_name(places: list[tuple[float, float]]) -> None:
    boxes = named_boxes(places, [SIZE] * len(places), frame=FRAME)

    assert all(one.covers(other) == 0 for one, other in combinations(boxes, 2))
    assert all(box.covers(mark) == 0 for box in boxes for mark in marks_of(places))
    assert all(box.covers(FRAME) == pytest.approx(box.area) for box in boxes), "none leaves the picture"


def test_a_name_avoids_a_line_that_crosses_the_picture() -> None:
    (plain,) = named_boxes([(200.0, 150.0)], [SIZE], frame=FRAME)
    line = Box(FRAME.left, 144.0, FRAME.right, 145.0)

    (box,) = named_boxes([(200.0, 150.0)], [SIZE], frame=FRAME, lines=[line])

    assert plain.covers(line) > 0
    assert box.covers(line) == 0


def test_a_name_is_nearest_to_its_own_mark() -> None:
    places = [(200.0, 150.0), (202.0, 140.0)]

    boxes = named_boxes(places, [SIZE, SIZE], frame=FRAME)

    assert boxes[0].distance(places[0]) < boxes[0].distance(places[1])
    assert boxes[1].distance(places[1]) < boxes[1].distance(places[0])


def test_a_name_that_is_far_from_its_mark_is_tied_to_it() -> None:
    figure = Figure(figsize=(3, 3))
    axes = figure.add_subplot()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 10)

    label_points(figure, axes, [(5, 5)] * 6, names=[f"number {number}" for number in range(6)])

    tied = [text.arrow_patch is not None for text in axes.texts]  # type: ignore[attr-defined]
    assert [text.get_text() for text in axes.texts] == [f"number {number}" for number in range(6)]
    assert any(tied)
    assert not all(tied)


def test_no_points_need_no_names() -> None:
    figure = Figure()
    axes = figure.add_subplot()

    label_points(figure, axes, [], names=[])

    assert not axes.texts
