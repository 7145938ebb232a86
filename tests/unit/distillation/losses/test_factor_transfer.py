"""Factors of length one, and the distance between them."""

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.features import factor_transfer


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[3.0, 4.0], [0.0, 2.0]])  # (0.6, 0.8) and (0, 1)
    student = torch.tensor([[5.0, 0.0], [0.0, 7.0]])  # (1, 0) and (0, 1)

    assert factor_transfer(student, teacher).item() == pytest.approx((0.4 + 0.8 + 0) / 2, rel=1e-6)
    assert factor_transfer(student, teacher, power=2).item() == pytest.approx((0.4**2 + 0.8**2) ** 0.5 / 2, rel=1e-6)


def test_it_is_a_mean_over_rows_and_a_sum_over_the_width() -> None:
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(2, 4, 384))

    loss = factor_transfer(torch.tensor(student), torch.tensor(teacher))

    units = [features / np.linalg.norm(features, axis=1, keepdims=True) for features in (student, teacher)]
    assert loss.item() == pytest.approx(np.abs(units[0] - units[1]).sum() / 4, rel=1e-9)


def test_it_is_zero_for_factors_of_another_length() -> None:
    teacher = torch.randn(3, 5)

    assert factor_transfer(0.2 * teacher, teacher).item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("power", [1, 2])
def test_the_gradient_is_that_of_finite_differences(power: float) -> None:
    teacher = torch.randn(3, 4, dtype=torch.float64)
    student = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda factors: factor_transfer(factors, teacher, power=power), student)


@pytest.mark.parametrize("power", [1, 2])
def test_equal_factors_and_factors_of_zeros_leave_the_gradient_finite(power: float) -> None:
    teacher = torch.tensor([[3.0, 4.0], [3.0, 4.0]])
    student = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(factor_transfer(student, teacher, power=power), student)

    assert torch.isfinite(gradient).all()
    assert gradient[1].tolist() == [0.0, 0.0]


def test_factors_of_two_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        factor_transfer(torch.randn(3, 1), torch.randn(3, 4))
