"""The mean squared error between features."""

import pytest
import torch

from limbeck.distillation.losses.features import hint


def test_hand_worked_value() -> None:
    student = torch.tensor([[1.0, 2.0, 0.0]])
    teacher = torch.tensor([[3.0, 2.0, -1.0]])

    assert hint(student, teacher).item() == pytest.approx((4 + 0 + 1) / 3)


def test_it_is_zero_for_equal_features() -> None:
    features = torch.randn(3, 4)

    assert hint(features, features.clone()).item() == 0.0


def test_the_gradient_pulls_towards_the_teacher_in_proportion_to_the_distance() -> None:
    teacher = torch.randn(2, 3)
    student = torch.randn(2, 3, requires_grad=True)

    (gradient,) = torch.autograd.grad(hint(student, teacher), student)

    torch.testing.assert_close(gradient, 2 * (student.detach() - teacher) / 6)


def test_features_of_two_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        hint(torch.randn(3, 1), torch.randn(3, 4))
