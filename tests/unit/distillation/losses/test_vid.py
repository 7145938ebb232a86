"""Variational information distillation."""

import math

import pytest
import torch

from limbeck.distillation.losses.features import vid


def test_hand_worked_value() -> None:
    student, teacher = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 1.0]])
    log_variance = torch.tensor([math.log(4), 0.0])  # σ² = 4 and 1

    expected = 0.5 * ((math.log(4) + 4 / 4) + (0 + 1 / 1)) / 2

    assert vid(student, teacher, log_variance=log_variance).item() == pytest.approx(expected, rel=1e-6)


def test_it_is_zero_for_equal_features_and_a_variance_of_one() -> None:
    features = torch.randn(3, 4)

    assert vid(features, features.clone(), log_variance=torch.zeros(4)).item() == 0.0


def test_the_least_loss_is_where_the_variance_is_the_squared_error() -> None:
    student, teacher = torch.randn(5, 3), torch.randn(5, 3)
    log_variance = (student - teacher).square().mean(dim=0).log().requires_grad_()

    (gradient,) = torch.autograd.grad(vid(student, teacher, log_variance=log_variance), log_variance)

    torch.testing.assert_close(gradient, torch.zeros(3), rtol=0, atol=1e-6)


def test_what_the_student_cannot_predict_has_less_weight() -> None:
    student = torch.zeros(1, 2, requires_grad=True)

    loss = vid(student, torch.ones(1, 2), log_variance=torch.tensor([0.0, math.log(10)]))
    (gradient,) = torch.autograd.grad(loss, student)

    assert gradient[0].tolist() == pytest.approx([-0.5, -0.05], rel=1e-5)


def test_the_gradients_are_those_of_finite_differences() -> None:
    teacher = torch.randn(3, 4, dtype=torch.float64)
    student = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    log_variance = torch.randn(4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(
        lambda features, spread: vid(features, teacher, log_variance=spread), (student, log_variance)
    )


def test_features_of_two_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        vid(torch.randn(3, 1), torch.randn(3, 4), log_variance=torch.zeros(4))
