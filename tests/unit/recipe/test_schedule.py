"""The section of a number that moves."""

from typing import Any

import pytest
from pydantic import ValidationError

from limbeck.recipe.base import Section
from limbeck.recipe.problems import problems_of
from limbeck.recipe.schedule import Number, PositiveNumber, Schedule


def test_it_moves_over_the_whole_training_and_a_warm_up_over_its_first_tenth() -> None:
    assert Schedule(kind="linear", end=1.0).share == 1.0
    assert Schedule(kind="cosine", end=1.0).share == 1.0
    assert Schedule(kind="warm_up", end=1.0).share == 0.1


def test_a_warm_up_may_say_its_own_share() -> None:
    assert Schedule(kind="warm_up", end=1.0, share=0.5).share == 0.5


def test_it_comes_back_as_it_was_written() -> None:
    schedule = Schedule(kind="warm_up", end=2.0)

    assert Schedule.model_validate(schedule.model_dump()) == schedule


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"kind": "linear", "start": -1.0, "end": 1.0}, "greater than or equal to 0"),
        ({"kind": "linear", "end": -1.0}, "greater than or equal to 0"),
        ({"kind": "linear", "end": 1.0, "share": 0.0}, "greater than 0"),
        ({"kind": "linear", "end": 1.0, "share": 1.5}, "less than or equal to 1"),
        ({"kind": "linear"}, "Field required"),
        ({"kind": "step", "end": 1.0}, "'linear', 'cosine' or 'warm_up'"),
        ({"kind": "warm_up", "start": 2.0, "end": 1.0}, "rises, but start is 2, end 1"),
        ({"kind": "linear", "end": 1.0, "power": 2}, "Extra inputs"),
    ],
)
def test_what_makes_no_sense_is_refused(table: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Schedule.model_validate(table)


class Holder(Section):
    """A section with a number of each kind."""

    weight: Number = 1.0
    temperature: PositiveNumber = 2.0


def problems(table: dict[str, Any]) -> list[str]:
    """What a user would see."""
    with pytest.raises(ValidationError) as refused:
        Holder.model_validate(table)
    return problems_of(refused.value, raw=table, root=Holder)


def test_a_number_is_a_plain_one_or_a_schedule() -> None:
    holder = Holder.model_validate({"weight": {"kind": "linear", "end": 1.0}, "temperature": 3})

    assert holder == Holder(weight=Schedule(kind="linear", end=1.0), temperature=3.0)
    assert Holder.model_validate(holder.model_dump()) == holder
    assert Holder.model_validate_json(holder.model_dump_json()) == holder


def test_a_mistake_in_a_schedule_is_one_problem() -> None:
    assert problems({"weight": {"kind": "liner", "end": 1.0}}) == [
        "weight.kind: should be 'linear', 'cosine' or 'warm_up' (found 'liner') (did you mean 'linear'?)"
    ]
    assert problems({"weight": {"kind": "linear"}}) == ["weight.end: missing, but required"]


def test_a_number_is_not_negative() -> None:
    assert problems({"weight": -1.0}) == ["weight: should be greater than or equal to 0 (found -1.0)"]


@pytest.mark.parametrize(
    "temperature", [0.0, {"kind": "linear", "end": 2.0}, {"kind": "cosine", "start": 2.0, "end": 0.0}]
)
def test_a_positive_number_never_comes_to_zero(temperature: object) -> None:
    """A temperature of zero would divide by it; and a schedule that does not say where it starts, starts there."""
    (problem,) = problems({"temperature": temperature})

    assert problem.startswith("temperature: should stay above 0 (found 0)")
