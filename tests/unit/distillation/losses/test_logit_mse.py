"""The mean squared error between logits."""

import pytest
import torch

from limbeck.distillation.losses.logits import logit_mse


def test_hand_worked_value() -> None:
    student = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    teacher = torch.tensor([[3.0, 2.0], [0.0, -1.0]])

    assert logit_mse(student, teacher).item() == pytest.approx((4 + 0 + 0 + 1) / 4)


def test_it_is_zero_for_equal_logits() -> None:
    logits = torch.randn(3, 4)

    assert logit_mse(logits, logits.clone()).item() == 0.0


def test_the_gradient_pulls_towards_the_teacher_in_proportion_to_the_distance() -> None:
    teacher = torch.tensor([[2.0, -1.0, 0.0]])
    student = torch.tensor([[0.0, 0.0, 0.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(logit_mse(student, teacher), student)

    torch.testing.assert_close(gradient, 2 * (student.detach() - teacher) / 3)
