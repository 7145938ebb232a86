"""Probabilistic knowledge transfer: who is whose neighbour."""

import math

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.features import pkt


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])  # likeness 1 of the first two, 1/2 else
    student = torch.tensor([[1.0], [3.0], [0.5]])  # all alike: every neighbour has 1/2

    near, far = 2 / 3, 1 / 3  # of the first two rows; to the third both are the same
    expected = 2 * (near * math.log(near / 0.5) + far * math.log(far / 0.5)) / 3

    assert pkt(student, teacher).item() == pytest.approx(expected, rel=1e-4)


def test_features_of_two_widths_follow_an_independent_formula() -> None:
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(6, 3)), random.normal(size=(6, 8))

    loss = pkt(torch.tensor(student), torch.tensor(teacher))

    def chances(features: np.ndarray) -> np.ndarray:
        units = features / np.linalg.norm(features, axis=1, keepdims=True)
        likeness = (1 + units @ units.T) / 2 * (1 - np.eye(6))
        return np.asarray(likeness / likeness.sum(axis=1, keepdims=True))

    p, q = (chances(features)[~np.eye(6, dtype=bool)] for features in (teacher, student))
    assert loss.item() == pytest.approx((p * np.log(p / q)).sum() / 6, rel=1e-4)


def test_it_is_zero_for_features_that_are_turned_scaled_and_wider() -> None:
    teacher = torch.randn(5, 4, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64)).Q
    student = torch.cat([0.1 * teacher @ turn, torch.zeros(5, 3, dtype=torch.float64)], dim=1)

    assert pkt(student, teacher).item() == pytest.approx(0.0, abs=1e-12)


def test_the_gradient_is_that_of_finite_differences() -> None:
    teacher = torch.randn(4, 5, dtype=torch.float64)
    student = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda features: pkt(features, teacher), student)


def test_opposite_rows_leave_loss_and_gradient_finite() -> None:
    student = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], requires_grad=True)

    loss = pkt(student, torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]))
    (gradient,) = torch.autograd.grad(loss, student)

    assert 1 < loss.item() < 20
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("rows", [1, 2])
def test_one_or_two_rows_give_zero(rows: int) -> None:
    student = torch.randn(rows, 3, requires_grad=True)

    loss = pkt(student, torch.randn(rows, 4))
    (gradient,) = torch.autograd.grad(loss, student)

    assert loss.item() == pytest.approx(0.0, abs=1e-7)
    assert gradient.abs().max().item() < 1e-6
