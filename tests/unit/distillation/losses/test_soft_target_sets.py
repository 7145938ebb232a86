"""The KL divergence of every class by itself, with its T²."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import soft_target_sets


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[math.log(3), 0.0]])  # p = 3/4 and 1/2
    student = torch.tensor([[0.0, 0.0]])  # q = 1/2 and 1/2

    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)  # the second class agrees and adds nothing

    assert soft_target_sets(student, teacher, temperature=1.0).item() == pytest.approx(expected, rel=1e-5)


def test_hand_worked_value_at_a_temperature_of_two() -> None:
    teacher = torch.tensor([[2 * math.log(3)]])  # halved by T: p = 3/4
    student = torch.tensor([[0.0]])

    expected = 4 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5))

    assert soft_target_sets(student, teacher, temperature=2.0).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_zero_for_equal_logits_only() -> None:
    teacher = torch.tensor([[1.0, -2.0, 0.5]])

    assert soft_target_sets(teacher.clone(), teacher, temperature=3.0).item() == pytest.approx(0.0, abs=1e-7)
    assert soft_target_sets(teacher + 7.0, teacher, temperature=3.0).item() > 0.1  # a softmax would not tell


def test_a_teacher_sure_of_two_labels_pushes_both_up() -> None:
    """TextBrewer's loss takes a softmax here, which can only push one up at the cost of the other."""
    teacher = torch.tensor([[9.0, 9.0, -9.0]])
    student = torch.zeros(1, 3, requires_grad=True)

    (gradient,) = torch.autograd.grad(soft_target_sets(student, teacher, temperature=1.0), student)

    assert gradient[0, 0].item() < -0.4
    assert gradient[0, 1].item() < -0.4
    assert gradient[0, 2].item() > 0.4


def test_the_gradient_does_not_fade_as_the_temperature_grows() -> None:
    teacher = torch.tensor([[2.0, -1.0]])
    student = torch.tensor([[-1.0, 1.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(soft_target_sets(student, teacher, temperature=100.0), student)

    torch.testing.assert_close(gradient, (student.detach() - teacher) / 4, rtol=0.02, atol=0.02)


def test_huge_logits_give_a_finite_loss() -> None:
    assert math.isfinite(soft_target_sets(torch.tensor([[-1e4]]), torch.tensor([[1e4]]), temperature=1.0).item())


def test_for_large_temperatures_the_gradient_is_that_of_the_logits() -> None:
    """(s - t) / (4 · rows), up to 1/T²: classes do not exclude each other, so nothing is centred."""
    student = torch.randn(3, 4, dtype=torch.float64).requires_grad_()
    teacher = 3 * torch.randn(3, 4, dtype=torch.float64) + 2

    (gradient,) = torch.autograd.grad(soft_target_sets(student, teacher, temperature=1e3), student)

    torch.testing.assert_close(gradient, (student.detach() - teacher) / (4 * 3), rtol=1e-4, atol=1e-6)
