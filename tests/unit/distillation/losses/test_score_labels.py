"""The mean squared error to scores, of which some rows have none."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import score_labels


def test_hand_worked_value() -> None:
    student = torch.tensor([[1.0], [0.0], [5.0]])
    labels = torch.tensor([0.0, 2.0, math.nan])

    assert score_labels(student, labels).item() == pytest.approx((1 + 4) / 2)


def test_it_is_zero_for_equal_scores_and_without_any() -> None:
    student = torch.tensor([[1.5], [-2.0]])

    assert score_labels(student, torch.tensor([1.5, -2.0])).item() == 0.0
    assert score_labels(student, torch.tensor([math.nan, math.nan])).item() == 0.0


def test_rows_without_a_score_have_no_gradient() -> None:
    student = torch.tensor([[1.0], [3.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(score_labels(student, torch.tensor([0.0, math.nan])), student)

    torch.testing.assert_close(gradient, torch.tensor([[2.0], [0.0]]))
