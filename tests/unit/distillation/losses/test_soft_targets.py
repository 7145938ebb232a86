"""The KL divergence at a temperature, with its T²."""

import math

import pytest
import torch

from limbeck.distillation.losses.soft_targets import soft_targets


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
