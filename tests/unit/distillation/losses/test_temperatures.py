"""Temperatures that follow the logits of a row."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import soft_targets
from limbeck.distillation.losses.temperatures import cwsm_temperatures, flsw_temperatures


def test_hand_worked_values_of_flsw() -> None:
    """Cosines of 1, 0 and -1: weights of 0, 1 and 4 with γ = 2, whose mean is 5/3."""
    student = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    teacher = torch.tensor([[3.0, 0.0], [0.0, 2.0], [-5.0, 0.0]])

    found = flsw_temperatures(student, teacher, temperature=4.0, spread=1.5, power=2.0)

    expected = [4 + 1.5 * (5 / 3 - weight) for weight in (0, 1, 4)]
    assert found.shape == (3, 1)
    assert found[:, 0].tolist() == pytest.approx(expected)


def test_hand_worked_values_of_cwsm() -> None:
    """Probabilities of 3/4 and 1/2."""
    student = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])

    found = cwsm_temperatures(student, temperature=4.0, spread=2.0)

    weights = [1 / 0.751, 1 / 0.501]
    assert found[:, 0].tolist() == pytest.approx([4 + 2 * (sum(weights) / 2 - weight) for weight in weights])


def test_rows_alike_have_the_base() -> None:
    student, teacher = torch.tensor([[1.0, 2.0]] * 3), torch.tensor([[0.5, -1.0]] * 3)

    torch.testing.assert_close(
        flsw_temperatures(student, teacher, temperature=3.0, spread=5.0, power=1.0), torch.full((3, 1), 3.0)
    )
    torch.testing.assert_close(cwsm_temperatures(student, temperature=3.0, spread=5.0), torch.full((3, 1), 3.0))


def test_a_temperature_never_falls_below_a_tenth_of_the_base() -> None:
    student, teacher = torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])

    found = flsw_temperatures(student, teacher, temperature=2.0, spread=100.0, power=1.0)

    assert found[:, 0].tolist() == pytest.approx([102.0, 0.2])


def test_no_gradient_goes_through_a_temperature() -> None:
    student = torch.randn(4, 3, requires_grad=True)

    assert not flsw_temperatures(student, torch.randn(4, 3), temperature=2.0, spread=1.0, power=1.0).requires_grad
    assert not cwsm_temperatures(student, temperature=2.0, spread=1.0).requires_grad


def test_every_row_has_its_own_temperature_and_its_own_factor() -> None:
    student, teacher = torch.randn(2, 3), torch.randn(2, 3)

    found = soft_targets(student, teacher, temperature=torch.tensor([[1.0], [4.0]]))

    rows = [soft_targets(student[[row]], teacher[[row]], temperature=t) for row, t in ((0, 1.0), (1, 4.0))]
    torch.testing.assert_close(found, (rows[0] + rows[1]) / 2)
