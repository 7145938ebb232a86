"""One minus the cosine between features."""

import pytest
import torch

from limbeck.distillation.losses.features import feature_cosine


def test_hand_worked_value() -> None:
    student = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    teacher = torch.tensor([[3.0, 4.0], [0.0, -1.0]])  # cosines 3/5 and -1

    assert feature_cosine(student, teacher).item() == pytest.approx((0.4 + 2.0) / 2, rel=1e-6)


def test_it_is_zero_for_features_of_another_length() -> None:
    teacher = torch.randn(3, 4)

    assert feature_cosine(0.1 * teacher, teacher).item() == pytest.approx(0.0, abs=1e-6)


def test_the_gradient_turns_the_student_and_does_not_stretch_it() -> None:
    teacher = torch.randn(3, 4, dtype=torch.float64)
    student = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda features: feature_cosine(features, teacher), student)
    (gradient,) = torch.autograd.grad(feature_cosine(student, teacher), student)
    along = (gradient * student.detach()).sum(dim=1)
    torch.testing.assert_close(along, torch.zeros_like(along), rtol=0, atol=1e-12)


def test_a_row_of_zeros_counts_one_and_gets_no_gradient() -> None:
    student = torch.zeros(1, 3, requires_grad=True)

    loss = feature_cosine(student, torch.ones(1, 3))
    (gradient,) = torch.autograd.grad(loss, student)

    assert loss.item() == 1.0
    assert gradient.tolist() == [[0.0, 0.0, 0.0]]


def test_features_of_two_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        feature_cosine(torch.randn(3, 1), torch.randn(3, 4))
