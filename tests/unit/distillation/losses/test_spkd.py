"""Similarity-preserving distillation."""

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.features import spkd


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[1.0, 0.0], [0.0, 2.0]])  # G: the identity
    student = torch.tensor([[3.0, 0.0], [3.0, 0.0]])  # G: 1/√2 everywhere

    root = 0.5**0.5
    assert spkd(student, teacher).item() == pytest.approx((2 * (1 - root) ** 2 + 2 * root**2) / 4, rel=1e-6)


def test_features_of_two_widths_follow_an_independent_formula() -> None:
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(6, 3)), random.normal(size=(6, 8))

    loss = spkd(torch.tensor(student), torch.tensor(teacher))

    def similarities(features: np.ndarray) -> np.ndarray:
        products = features @ features.T
        return np.asarray(products / np.linalg.norm(products, axis=1, keepdims=True))

    expected = np.linalg.norm(similarities(teacher) - similarities(student)) ** 2 / 36
    assert loss.item() == pytest.approx(expected, rel=1e-9)


def test_it_is_zero_for_equal_features_and_for_features_of_another_scale() -> None:
    features = torch.randn(5, 4)

    assert spkd(features.clone(), features).item() == 0.0
    assert spkd(0.01 * features, features).item() == pytest.approx(0.0, abs=1e-12)


def test_it_ignores_how_the_features_are_turned() -> None:
    student, teacher = torch.randn(6, 3, dtype=torch.float64), torch.randn(6, 8, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64)).Q

    torch.testing.assert_close(spkd(student, teacher @ turn), spkd(student, teacher))
    assert spkd(student, teacher @ torch.randn(8, 8, dtype=torch.float64)).item() != pytest.approx(
        spkd(student, teacher).item(), rel=1e-3
    )


def test_it_ignores_the_width_of_the_features() -> None:
    student, teacher = torch.randn(6, 3, dtype=torch.float64), torch.randn(6, 8, dtype=torch.float64)
    wider = torch.cat([teacher, torch.zeros(6, 100, dtype=torch.float64)], dim=1)

    torch.testing.assert_close(spkd(student, wider), spkd(student, teacher))


def test_the_order_of_rows_does_not_matter() -> None:
    student, teacher, order = torch.randn(6, 3), torch.randn(6, 8), torch.tensor([3, 1, 5, 0, 2, 4])

    torch.testing.assert_close(spkd(student[order], teacher[order]), spkd(student, teacher))


def test_the_gradient_is_that_of_finite_differences() -> None:
    teacher = torch.randn(4, 5, dtype=torch.float64)
    student = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda features: spkd(features, teacher), student)


def test_one_row_alone_gives_zero_and_no_gradient() -> None:
    student = torch.tensor([[0.5, -2.0]], requires_grad=True)

    loss = spkd(student, torch.tensor([[1.0, 3.0, 4.0]]))
    (gradient,) = torch.autograd.grad(loss, student)

    assert loss.item() == pytest.approx(0.0, abs=1e-12)
    assert gradient.abs().max().item() < 1e-6
