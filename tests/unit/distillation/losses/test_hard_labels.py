"""The cross-entropy to the corpus's labels."""

import math

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.logits import hard_labels


def test_hand_worked_value() -> None:
    logits = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])  # softmax (3/4, 1/4) and (1/2, 1/2)
    labels = torch.tensor([0, 1])

    expected = -(math.log(0.75) + math.log(0.5)) / 2

    assert hard_labels(logits, labels).item() == pytest.approx(expected, rel=1e-6)


def test_it_is_zero_when_the_student_is_sure_and_right() -> None:
    assert hard_labels(torch.tensor([[200.0, 0.0]]), torch.tensor([0])).item() == 0.0


def test_rows_without_a_label_add_nothing_and_get_no_gradient() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.3, 0.9]], requires_grad=True)

    loss = hard_labels(logits, torch.tensor([0, -1]))
    (gradient,) = torch.autograd.grad(loss, logits)

    assert loss.item() == pytest.approx(hard_labels(logits[:1], torch.tensor([0])).item())
    assert gradient[1].tolist() == [0.0, 0.0]
    assert gradient[0, 0].item() < 0 < gradient[0, 1].item()


def test_a_batch_of_transfer_text_alone_gives_zero_and_not_nan() -> None:
    logits = torch.tensor([[1.0, 0.0]], requires_grad=True)

    loss = hard_labels(logits, torch.tensor([-1]))
    (gradient,) = torch.autograd.grad(loss, logits)

    assert loss.item() == 0.0
    assert torch.isfinite(gradient).all()


def test_class_weights_are_those_of_the_row_s_own_class() -> None:
    logits = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])  # softmax (3/4, 1/4) and (1/2, 1/2)
    weights = torch.tensor([1.0, 3.0])

    loss = hard_labels(logits, torch.tensor([0, 1]), class_weights=weights)

    assert loss.item() == pytest.approx(-(math.log(0.75) + 3 * math.log(0.5)) / 2, rel=1e-6)


def test_class_weights_ignore_rows_without_a_label() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.3, 0.9]])
    weights = torch.tensor([0.5, 5.0])

    both = hard_labels(logits, torch.tensor([0, -1]), class_weights=weights)

    assert both.item() == pytest.approx(0.5 * hard_labels(logits[:1], torch.tensor([0])).item())
    assert hard_labels(logits, torch.tensor([-1, -1]), class_weights=weights).item() == 0.0


def test_two_halves_of_a_batch_add_up_to_the_batch_with_class_weights() -> None:
    logits, labels, weights = torch.randn(6, 3), torch.tensor([0, 0, 1, 2, 2, 1]), torch.tensor([1.0, 5.0, 0.2])

    halves = [hard_labels(logits[part], labels[part], class_weights=weights) for part in (slice(0, 3), slice(3, 6))]

    torch.testing.assert_close(torch.stack(halves).mean(), hard_labels(logits, labels, class_weights=weights))


def test_hand_worked_value_with_smoothing() -> None:
    logits = torch.tensor([[math.log(3), 0.0]])  # softmax (3/4, 1/4)

    loss = hard_labels(logits, torch.tensor([0]), smoothing=0.2)  # target (0.9, 0.1)

    assert loss.item() == pytest.approx(-(0.9 * math.log(0.75) + 0.1 * math.log(0.25)), rel=1e-6)


def test_with_smoothing_the_least_loss_is_at_the_smoothed_target() -> None:
    target = torch.tensor([[0.9, 0.05, 0.05]])  # ε = 0.15 over three classes

    student = target.log().requires_grad_()
    (gradient,) = torch.autograd.grad(hard_labels(student, torch.tensor([0]), smoothing=0.15), student)

    torch.testing.assert_close(gradient, torch.zeros(1, 3), rtol=0, atol=1e-6)


def test_smoothing_and_class_weights_depend_on_the_class_and_ignore_rows_without_a_label() -> None:
    random = np.random.default_rng(0)
    logits, labels, weights = random.normal(size=(4, 3)), np.array([2, -1, 0, 1]), np.array([1.0, 5.0, 0.2])

    loss = hard_labels(torch.tensor(logits), torch.tensor(labels), class_weights=torch.tensor(weights), smoothing=0.3)

    rows = labels >= 0
    targets = 0.7 * np.eye(3)[labels[rows]] + 0.1
    log_probabilities = logits[rows] - np.log(np.exp(logits[rows]).sum(axis=1, keepdims=True))
    assert loss.item() == pytest.approx(-(weights * targets * log_probabilities).sum() / 3, rel=1e-9)


def test_without_smoothing_nothing_changes() -> None:
    logits, labels = torch.randn(5, 3), torch.tensor([0, 2, 1, -1, 1])

    assert hard_labels(logits, labels, smoothing=0.0).item() == hard_labels(logits, labels).item()
