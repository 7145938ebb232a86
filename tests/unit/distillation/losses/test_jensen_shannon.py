"""The Jensen-Shannon divergence, with its T²."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import jensen_shannon


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[math.log(3), 0.0]])  # p = (3/4, 1/4)
    student = torch.tensor([[0.0, math.log(3)]])  # q = (1/4, 3/4), so m = (1/2, 1/2)

    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)  # both halves are the same

    assert jensen_shannon(student, teacher, temperature=1.0).item() == pytest.approx(expected, rel=1e-5)


def test_hand_worked_value_at_a_temperature_of_two() -> None:
    teacher = torch.tensor([[2 * math.log(3), 0.0]])  # halved by T
    student = torch.tensor([[0.0, 2 * math.log(3)]])

    expected = 4 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5))

    assert jensen_shannon(student, teacher, temperature=2.0).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_zero_for_logits_that_differ_by_a_constant() -> None:
    teacher = torch.tensor([[1.0, -2.0, 0.5]])

    assert jensen_shannon(teacher + 7.0, teacher, temperature=3.0).item() == pytest.approx(0.0, abs=1e-6)


def test_it_is_the_same_from_either_side_and_a_mean_over_rows() -> None:
    student, teacher = torch.randn(3, 5), torch.randn(3, 5)

    loss = jensen_shannon(student, teacher, temperature=2.0)

    torch.testing.assert_close(loss, jensen_shannon(teacher, student, temperature=2.0))
    rows = [jensen_shannon(student[row : row + 1], teacher[row : row + 1], temperature=2.0) for row in range(3)]
    torch.testing.assert_close(loss, torch.stack(rows).mean())


def test_it_is_never_more_than_the_logarithm_of_two() -> None:
    loss = jensen_shannon(torch.tensor([[-1e4, 1e4]]), torch.tensor([[1e4, -1e4]]), temperature=1.0)

    assert loss.item() == pytest.approx(math.log(2), rel=1e-6)


def test_the_gradient_does_not_fade_as_the_temperature_grows() -> None:
    """For large T it tends to a quarter of that of soft targets."""
    teacher = torch.tensor([[2.0, -1.0, -1.0]], dtype=torch.float64)  # both rows sum to zero
    student = torch.tensor([[-1.0, 0.0, 1.0]], dtype=torch.float64, requires_grad=True)

    (gradient,) = torch.autograd.grad(jensen_shannon(student, teacher, temperature=1e3), student)

    torch.testing.assert_close(gradient, (student.detach() - teacher) / 12, rtol=0, atol=1e-3)


def test_the_gradient_is_that_of_finite_differences() -> None:
    teacher = torch.randn(3, 4, dtype=torch.float64)
    student = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda logits: jensen_shannon(logits, teacher, temperature=2.0), student)
