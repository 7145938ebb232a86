"""Pairwise ranking within a batch."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import ranking


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[2.0], [1.0], [0.0]])
    student = torch.tensor([[1.0], [0.0], [0.0]])

    # pairs: (0, 1) and (0, 2) with a distance of 1, (1, 2) with one of 0
    expected = (2 * math.log(1 + math.exp(-1)) + math.log(2)) / 3

    assert ranking(student, teacher).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_zero_without_a_pair_and_nearly_zero_for_the_same_order_far_apart() -> None:
    assert ranking(torch.tensor([[1.0], [5.0]]), torch.tensor([[2.0], [2.0]])).item() == 0.0
    assert ranking(torch.tensor([[0.0], [50.0]]), torch.tensor([[1.0], [2.0]])).item() < 1e-6


def test_pairs_within_the_margin_do_not_count() -> None:
    student, teacher = torch.tensor([[0.0], [1.0], [9.0]]), torch.tensor([[1.0], [1.5], [5.0]])

    wide, narrow = (ranking(student, teacher, margin=margin).item() for margin in (1.0, 0.0))

    assert wide < narrow


def test_adding_a_number_to_all_scores_changes_nothing_and_the_gradient_sums_to_zero() -> None:
    teacher, student = torch.randn(6, 1), torch.randn(6, 1, requires_grad=True)

    (gradient,) = torch.autograd.grad(ranking(student, teacher), student)

    torch.testing.assert_close(ranking(student + 7, teacher), ranking(student, teacher))
    assert gradient.sum().item() == pytest.approx(0.0, abs=1e-6)
