"""How long a general distillation is, and what each of its steps reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.general.plan import planned, steps_for
from limbeck.recipe.general_layers import GeneralLayers


def section(**keys: Any) -> GeneralLayers:
    return GeneralLayers.model_validate({"name": "x", "losses": [{"kind": "hidden_mse"}], "batch_size": 4, **keys})


@pytest.mark.parametrize(
    ("keys", "steps"),
    [
        ({}, 5),  # 18 windows in batches of 4
        ({"epochs": 2, "accumulation_steps": 2}, 5),
        ({"steps": 7}, 7),
        ({"minutes": 2.0}, 228),  # 120 s · 0.95 · 8 a second, in batches of 4
    ],
)
def test_steps(keys: dict[str, Any], steps: int) -> None:
    assert steps_for(section(**keys), windows=18, per_second=8.0) == steps


def test_every_window_is_read_once_a_pass_and_numbers_tell_the_passes_apart(tmp_path: Path) -> None:
    lengths = np.full(18, 16)
    plan = planned(section(steps=10, rounds=2), lengths, speed=lambda: {"student": 1.0}, file=tmp_path / "plan.json")

    numbers = [np.concatenate(plan.batches(number)) for number in range(2)]

    assert plan.steps == 10
    assert sorted(numbers[0]) == list(range(18))
    assert sorted(numbers[1]) == list(range(18, 36))
    assert numbers[0].tolist() != (numbers[1] - 18).tolist()


def test_a_process_that_continues_has_the_plan_of_the_first(tmp_path: Path) -> None:
    lengths, asked = np.full(40, 16), section(minutes=1.0, rounds=3)
    first = planned(asked, lengths, speed=lambda: {"student": 2.0}, file=tmp_path / "plan.json")

    second = planned(asked, lengths, speed=lambda: {"student": 9.0}, file=tmp_path / "plan.json")

    assert (first.steps, second.steps, second.speed) == (30, 30, {"student": 2.0})
