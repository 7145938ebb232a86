"""The KL divergence at a temperature, with its T²."""

import math

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.logits import logit_mse, soft_targets


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[math.log(3), 0.0]])  # p = (3/4, 1/4)
    student = torch.tensor([[0.0, 0.0]])  # q = (1/2, 1/2)

    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)

    assert soft_targets(student, teacher, temperature=1.0).item() == pytest.approx(expected, rel=1e-5)


def test_hand_worked_value_at_a_temperature_of_two() -> None:
    teacher = torch.tensor([[2 * math.log(3), 0.0]])  # halved by T: p = (3/4, 1/4)
    student = torch.tensor([[0.0, 0.0]])

    expected = 4 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5))

    assert soft_targets(student, teacher, temperature=2.0).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_zero_for_logits_that_differ_by_a_constant() -> None:
    teacher = torch.tensor([[1.0, -2.0, 0.5]])

    assert soft_targets(teacher + 7.0, teacher, temperature=3.0).item() == pytest.approx(0.0, abs=1e-6)


def test_the_gradient_does_not_fade_as_the_temperature_grows() -> None:
    """For large T it tends to (student - teacher) / classes, Hinton's equation 4 times T².

    TextBrewer's loss has no T² and distil-bilstm's divides by it: both fail here, by factors of T² and T⁴.
    """
    teacher = torch.tensor([[2.0, -1.0, -1.0]])  # both rows sum to zero
    student = torch.tensor([[-1.0, 0.0, 1.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(soft_targets(student, teacher, temperature=100.0), student)

    torch.testing.assert_close(gradient, (student.detach() - teacher) / 3, rtol=0.02, atol=0.02)


def test_it_is_a_mean_over_rows_and_a_sum_over_classes() -> None:
    teacher, student = torch.randn(1, 5), torch.randn(1, 5)

    once = soft_targets(student, teacher, temperature=2.0)
    twice = soft_targets(student.repeat(2, 1), teacher.repeat(2, 1), temperature=2.0)

    torch.testing.assert_close(once, twice)


def test_for_large_temperatures_the_gradient_is_that_of_centred_logits() -> None:
    """(1 / (rows · classes)) · ((s - mean s) - (t - mean t)), up to 1/T: Hinton's equation 4 times T²."""
    student = torch.randn(4, 5, dtype=torch.float64).requires_grad_()
    teacher = 3 * torch.randn(4, 5, dtype=torch.float64) + 2

    (gradient,) = torch.autograd.grad(soft_targets(student, teacher, temperature=1e3), student)

    centred = student.detach() - student.detach().mean(dim=1, keepdim=True)
    limit = (centred - (teacher - teacher.mean(dim=1, keepdim=True))) / (4 * 5)
    torch.testing.assert_close(gradient, limit, rtol=0, atol=5e-3 * limit.abs().max().item())


def test_for_large_temperatures_it_is_half_the_squared_difference_of_centred_logits() -> None:
    student, teacher = torch.randn(4, 5, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    student, teacher = student - student.mean(dim=1, keepdim=True), teacher - teacher.mean(dim=1, keepdim=True)

    loss = soft_targets(student, teacher, temperature=1e4)

    torch.testing.assert_close(loss, logit_mse(student, teacher) / 2, rtol=1e-3, atol=0)


def test_t_squared_is_there_without_a_hard_loss() -> None:
    """torchdistill's KDLoss drops it where the weight of the hard loss is zero."""
    student, teacher = np.array([[0.5, -1.0, 2.0]]), np.array([[1.5, 0.0, -1.0]])

    loss = soft_targets(torch.tensor(student), torch.tensor(teacher), temperature=3.0)

    p, q = (np.exp(logits / 3) / np.exp(logits / 3).sum() for logits in (teacher, student))
    assert loss.item() == pytest.approx(9 * (p * np.log(p / q)).sum(), rel=1e-9)


def test_the_gradient_is_t_squared_times_that_of_a_plain_cross_entropy() -> None:
    """TextBrewer's kd_ce_loss is the plain one: at T = 8 it is 64 times too small next to the hard loss."""
    teacher = torch.tensor([[1.5, 0.0, -1.0]])
    student = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)

    plain = -((teacher / 8).softmax(dim=-1) * (student / 8).log_softmax(dim=-1)).sum()
    (ours,), (theirs,) = (
        torch.autograd.grad(loss, student) for loss in (soft_targets(student, teacher, temperature=8.0), plain)
    )

    torch.testing.assert_close(ours, 64 * theirs)
