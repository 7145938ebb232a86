"""Soft targets in which rows count by how sure the teacher is of them."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import (
    certain_target_sets,
    certain_targets,
    soft_target_sets,
    soft_targets,
)

TEACHER = torch.tensor([[math.log(3), 0.0], [math.log(9), 0.0]])  # p = (3/4, 1/4) and (9/10, 1/10)
KL = [0.75 * math.log(1.5) + 0.25 * math.log(0.5), 0.9 * math.log(1.8) + 0.1 * math.log(0.2)]  # to (1/2, 1/2)


def test_hand_worked_value() -> None:
    """The weights are (0.75 - 0.5) / 0.5 = 0.5 and (0.9 - 0.5) / 0.5 = 0.8."""
    student = torch.zeros(2, 2)

    expected = (0.5 * KL[0] + 0.8 * KL[1]) / 1.3
    squared = (0.25 * KL[0] + 0.64 * KL[1]) / 0.89

    assert certain_targets(student, TEACHER).item() == pytest.approx(expected, rel=1e-5)
    assert certain_targets(student, TEACHER, power=2.0).item() == pytest.approx(squared, rel=1e-5)


def test_hand_worked_value_of_sets() -> None:
    """Each class by itself: the same two distributions and weights, and two classes."""
    teacher = TEACHER[:, :1].T  # one row, σ = 3/4 and 9/10

    expected = 2 * (0.5 * KL[0] + 0.8 * KL[1]) / 1.3

    assert certain_target_sets(torch.zeros(1, 2), teacher).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_zero_where_the_student_agrees_and_where_the_teacher_guesses() -> None:
    assert certain_targets(TEACHER + 3, TEACHER).item() == pytest.approx(0.0, abs=1e-6)
    assert certain_targets(torch.randn(3, 4), torch.zeros(3, 4)).item() == 0.0
    assert certain_target_sets(torch.randn(3, 4), torch.zeros(3, 4)).item() == 0.0


def test_rows_of_equal_certainty_are_those_of_soft_targets() -> None:
    teacher = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    student = torch.randn(2, 3)

    torch.testing.assert_close(
        certain_targets(student, teacher, temperature=2.0), soft_targets(student, teacher, temperature=2.0)
    )
    even, read = torch.tensor([[2.0, -2.0], [2.0, 2.0]]), torch.randn(2, 2)
    torch.testing.assert_close(
        certain_target_sets(read, even, temperature=2.0), soft_target_sets(read, even, temperature=2.0)
    )


def test_a_row_on_which_the_teacher_guesses_has_no_gradient() -> None:
    student = torch.randn(2, 2, requires_grad=True)
    teacher = torch.tensor([[0.0, 0.0], [3.0, 0.0]])

    (gradient,) = torch.autograd.grad(certain_targets(student, teacher), student)

    assert gradient[0].tolist() == [0.0, 0.0]
    assert gradient[1].abs().min() > 0
