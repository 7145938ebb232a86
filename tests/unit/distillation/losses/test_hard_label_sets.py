"""The binary cross-entropy to sets of labels."""

import math

import pytest
import torch

from limbeck.distillation.losses.logits import hard_label_sets


def test_hand_worked_value() -> None:
    logits = torch.tensor([[math.log(3), 0.0]])  # sigmoid 3/4 and 1/2
    labels = torch.tensor([[1, 0]])

    expected = -(math.log(0.75) + math.log(0.5)) / 2

    assert hard_label_sets(logits, labels).item() == pytest.approx(expected, rel=1e-6)


def test_a_weight_counts_where_the_class_is_there_and_nowhere_else() -> None:
    logits = torch.tensor([[0.0, 0.0]])
    weights = torch.tensor([3.0, 3.0])

    loss = hard_label_sets(logits, torch.tensor([[1, 0]]), class_weights=weights)

    assert loss.item() == pytest.approx((3 * math.log(2) + math.log(2)) / 2, rel=1e-6)


def test_it_is_zero_when_the_student_is_sure_and_right() -> None:
    assert hard_label_sets(torch.tensor([[200.0, -200.0]]), torch.tensor([[1, 0]])).item() == 0.0


def test_rows_without_labels_add_nothing_and_get_no_gradient() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.3, 0.9]], requires_grad=True)

    loss = hard_label_sets(logits, torch.tensor([[1, 1], [-1, -1]]))
    (gradient,) = torch.autograd.grad(loss, logits)

    assert loss.item() == pytest.approx(hard_label_sets(logits[:1], torch.tensor([[1, 1]])).item())
    assert gradient[1].tolist() == [0.0, 0.0]
    assert (gradient[0] < 0).all()


def test_a_row_with_no_label_at_all_is_a_labelled_row() -> None:
    logits = torch.tensor([[1.0, 1.0]], requires_grad=True)

    (gradient,) = torch.autograd.grad(hard_label_sets(logits, torch.tensor([[0, 0]])), logits)

    assert (gradient > 0).all()


def test_a_batch_of_transfer_text_alone_gives_zero_and_not_nan() -> None:
    assert hard_label_sets(torch.tensor([[1.0, 0.0]]), torch.tensor([[-1, -1]])).item() == 0.0


def test_hand_worked_value_with_smoothing() -> None:
    logits = torch.tensor([[math.log(3), 0.0]])  # sigmoid 3/4 and 1/2

    loss = hard_label_sets(logits, torch.tensor([[1, 0]]), smoothing=0.2)  # targets 0.9 and 0.1

    expected = -(0.9 * math.log(0.75) + 0.1 * math.log(0.25) + math.log(0.5)) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-6)


def test_with_smoothing_the_least_loss_is_at_the_smoothed_target() -> None:
    student = torch.tensor([[0.95, 0.05]]).logit().requires_grad_()

    (gradient,) = torch.autograd.grad(hard_label_sets(student, torch.tensor([[1, 0]]), smoothing=0.1), student)

    torch.testing.assert_close(gradient, torch.zeros(1, 2), rtol=0, atol=1e-6)


def test_smoothing_keeps_class_weights_and_ignores_rows_without_labels() -> None:
    logits, labels = torch.zeros(2, 2), torch.tensor([[1, 0], [-1, -1]])

    loss = hard_label_sets(logits, labels, class_weights=torch.tensor([3.0, 3.0]), smoothing=0.2)

    yes, no = 0.9 * 3 + 0.1, 0.1 * 3 + 0.9
    assert loss.item() == pytest.approx((yes + no) / 2 * math.log(2), rel=1e-6)
