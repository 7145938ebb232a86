"""The squared distance between probabilities."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import probability_mse, probability_mse_sets

LOG_3 = math.log(3.0)


def test_hand_worked_value() -> None:
    student = torch.tensor([[0.0, LOG_3], [0.0, 0.0]])  # (1/4, 3/4), (1/2, 1/2)
    teacher = torch.tensor([[LOG_3, 0.0], [0.0, 0.0]])  # (3/4, 1/4), (1/2, 1/2)

    assert probability_mse(student, teacher).item() == pytest.approx((0.5**2 + 0.5**2) / 2)


def test_hand_worked_value_with_a_temperature() -> None:
    student, teacher = torch.tensor([[0.0, 2 * LOG_3]]), torch.tensor([[2 * LOG_3, 0.0]])

    assert probability_mse(student, teacher, temperature=2.0).item() == pytest.approx(0.5)


def test_hand_worked_value_of_several_labels() -> None:
    student, teacher = torch.tensor([[0.0, LOG_3, 0.0]]), torch.tensor([[LOG_3, 0.0, 0.0]])  # 1/2 3/4, 3/4 1/2

    assert probability_mse_sets(student, teacher).item() == pytest.approx(2 * 0.25**2)


def test_it_is_zero_where_logits_differ_by_a_constant_and_never_above_two() -> None:
    logits = torch.randn(3, 4)

    assert probability_mse(logits + 5, logits).item() == pytest.approx(0.0, abs=1e-12)
    assert probability_mse(torch.tensor([[90.0, -90.0]]), torch.tensor([[-90.0, 90.0]])).item() == pytest.approx(2.0)


def test_the_gradient_pulls_towards_the_teacher_and_vanishes_where_the_student_is_sure() -> None:
    teacher = torch.tensor([[2.0, 0.0], [2.0, 0.0]])
    student = torch.tensor([[0.0, 0.0], [0.0, 40.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(probability_mse(student, teacher), student)

    assert gradient[0, 0] < 0 < gradient[0, 1]
    assert gradient[1].abs().max() < 1e-10
