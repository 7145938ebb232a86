"""Numbers that move with the training."""

import math

import pytest

from limbeck.recipe.schedule import Schedule
from limbeck.training.schedules import value_at


@pytest.mark.parametrize(("progress", "expected"), [(0.0, 4.0), (0.25, 3.25), (0.5, 2.5), (1.0, 1.0)])
def test_linear_goes_in_a_straight_line(progress: float, expected: float) -> None:
    assert value_at(Schedule(kind="linear", start=4.0, end=1.0), progress) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("progress", "expected"), [(0.0, 4.0), (0.25, 4 - 3 * (1 - math.sqrt(0.5)) / 2), (0.5, 2.5), (1.0, 1.0)]
)
def test_cosine_is_slow_at_both_ends(progress: float, expected: float) -> None:
    assert value_at(Schedule(kind="cosine", start=4.0, end=1.0), progress) == pytest.approx(expected)


@pytest.mark.parametrize(("progress", "expected"), [(0.0, 0.0), (0.05, 1.5), (0.1, 3.0), (0.5, 3.0), (1.0, 3.0)])
def test_warm_up_rises_in_the_first_tenth(progress: float, expected: float) -> None:
    assert value_at(Schedule(kind="warm_up", end=3.0), progress) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["linear", "cosine", "warm_up"])
def test_after_its_share_it_stays_at_the_end(kind: str) -> None:
    schedule = Schedule.model_validate({"kind": kind, "start": 0.1, "end": 0.7, "share": 0.4})

    assert value_at(schedule, 0.2) == pytest.approx(0.4)
    assert [value_at(schedule, progress) for progress in (0.4, 0.9, 1.0, 1.5)] == [0.7, 0.7, 0.7, 0.7]


def test_before_the_first_step_it_is_at_its_start() -> None:
    assert value_at(Schedule(kind="linear", start=2.0, end=1.0), -0.5) == 2.0


@pytest.mark.parametrize("progress", [0.0, 0.3, 1.0])
def test_a_plain_number_stays(progress: float) -> None:
    assert value_at(2.5, progress) == 2.5
