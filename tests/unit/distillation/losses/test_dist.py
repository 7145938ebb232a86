"""Correlations between the probabilities of student and teacher."""

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.logits import dist

STUDENT = np.random.default_rng(0).normal(size=(5, 4))
TEACHER = np.random.default_rng(1).normal(size=(5, 4))


def test_rows_and_classes_follow_an_independent_formula() -> None:
    loss = dist(torch.tensor(STUDENT), torch.tensor(TEACHER), temperature=2.0, between_classes=1.5, within_classes=0.5)

    p, q = _softmax(TEACHER / 2), _softmax(STUDENT / 2)
    between = np.mean([1 - np.corrcoef(p[row], q[row])[0, 1] for row in range(5)])
    within = np.mean([1 - np.corrcoef(p[:, column], q[:, column])[0, 1] for column in range(4)])
    assert loss.item() == pytest.approx(1.5 * between + 0.5 * within, rel=1e-9)


def test_hand_worked_value_of_a_row() -> None:
    teacher = torch.tensor([[3.0, 2.0, 1.0]]).log()  # p = (3, 2, 1) / 6: centred (1, 0, -1)
    student = torch.tensor([[3.0, 1.0, 2.0]]).log()  # q centred (1, -1, 0): correlation 1/2

    assert dist(student, teacher).item() == pytest.approx(0.5, rel=1e-5)


def test_it_is_zero_for_equal_logits() -> None:
    logits = torch.tensor(TEACHER)

    assert dist(logits.clone(), logits).item() == pytest.approx(0.0, abs=1e-12)


def test_between_classes_is_zero_for_probabilities_that_are_only_less_sure() -> None:
    teacher = torch.tensor([[0.7, 0.2, 0.1]])
    student = 0.3 * teacher + 0.7 / 3  # half way to even: the same relations

    assert dist(student.log(), teacher.log()).item() == pytest.approx(0.0, abs=1e-5)


def test_a_batch_of_one_row_has_no_part_within_classes() -> None:
    student = torch.tensor(STUDENT[:1], requires_grad=True)

    one = dist(student, torch.tensor(TEACHER[:1]), within_classes=100.0)
    (gradient,) = torch.autograd.grad(one, student)

    assert one.item() == dist(student, torch.tensor(TEACHER[:1]), within_classes=0.0).item()
    assert torch.isfinite(gradient).all()


def test_with_two_classes_a_row_between_classes_is_right_or_wrong_and_nothing_else() -> None:
    teacher = torch.tensor([[2.0, -1.0], [0.1, 0.0], [-3.0, 1.0], [-0.2, 0.2]], dtype=torch.float64)
    student = torch.tensor([[0.1, 0.0], [4.0, 0.0], [2.0, 1.0], [9.0, 0.0]], dtype=torch.float64, requires_grad=True)

    rows = [dist(student[row : row + 1], teacher[row : row + 1]) for row in range(4)]
    (gradient,) = torch.autograd.grad(torch.stack(rows).sum(), student)

    assert [row.item() for row in rows] == pytest.approx([0.0, 0.0, 2.0, 2.0], abs=1e-12)
    assert gradient.abs().max().item() < 1e-9


def test_with_two_classes_the_part_within_classes_still_teaches() -> None:
    student = torch.tensor(STUDENT[:, :2], requires_grad=True)

    loss = dist(student, torch.tensor(TEACHER[:, :2]), between_classes=0.0)
    (gradient,) = torch.autograd.grad(loss, student)

    assert gradient.abs().max().item() > 1e-3


def test_a_class_that_is_the_same_in_all_rows_counts_as_uncorrelated() -> None:
    student = torch.tensor([[0.1, 0.2, 0.3]] * 3, requires_grad=True)  # every class constant, up to rounding

    loss = dist(student, torch.tensor(TEACHER[:3, :3], dtype=torch.float32), between_classes=0.0)
    (gradient,) = torch.autograd.grad(loss, student)

    assert loss.item() == 1.0
    assert gradient.abs().max().item() == 0.0


def test_the_gradient_does_not_fade_as_the_temperature_grows() -> None:
    student, teacher = torch.tensor(STUDENT, requires_grad=True), torch.tensor(TEACHER)

    sizes = [
        torch.autograd.grad(dist(student, teacher, temperature=heat), student)[0].norm().item() for heat in (1e2, 1e3)
    ]

    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_the_gradient_is_that_of_finite_differences() -> None:
    student, teacher = torch.tensor(STUDENT, requires_grad=True), torch.tensor(TEACHER)

    assert torch.autograd.gradcheck(lambda logits: dist(logits, teacher, temperature=2.0), student)


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
