"""Huber's loss between two scores."""

import pytest
import torch

from limbeck.distillation.losses.logits import huber


def test_hand_worked_value() -> None:
    student, teacher = torch.tensor([[0.0], [0.0]]), torch.tensor([[1.0], [4.0]])

    # within δ = 2: ½ · 1² = 0.5; beyond it: 2 · (4 - 1) = 6
    assert huber(student, teacher, delta=2.0).item() == pytest.approx((0.5 + 6) / 2)


def test_it_is_zero_for_equal_scores() -> None:
    scores = torch.randn(4, 1)

    assert huber(scores, scores.clone(), delta=1.0).item() == 0.0


def test_the_gradient_grows_no_further_beyond_delta() -> None:
    student, teacher = torch.zeros(2, 1, requires_grad=True), torch.tensor([[3.0], [300.0]])

    (gradient,) = torch.autograd.grad(huber(student, teacher, delta=1.0), student)

    torch.testing.assert_close(gradient, torch.tensor([[-0.5], [-0.5]]))
