"""Decoupled distillation: the target class, and the others among each other."""

import math

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.logits import dkd, soft_targets

LABELS = torch.tensor([0])


def test_hand_worked_value() -> None:
    teacher = torch.tensor([[math.log(4), math.log(3), 0.0]])  # p = (4, 3, 1) / 8
    student = torch.zeros(1, 3)  # q = (1, 1, 1) / 3

    loss = dkd(student, teacher, LABELS, temperature=1.0, target_weight=2.0, other_weight=8.0)

    target = 0.5 * math.log(0.5 / (1 / 3)) + 0.5 * math.log(0.5 / (2 / 3))
    others = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert loss.item() == pytest.approx(2 * target + 8 * others, rel=1e-5)


def test_it_is_times_t_squared() -> None:
    teacher, student = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([[0.0, 1.0, 0.5]])

    warm, hot = dkd(student, teacher, LABELS, temperature=1.0), dkd(3 * student, 3 * teacher, LABELS, temperature=3.0)

    torch.testing.assert_close(hot, 9 * warm)


def test_it_is_zero_for_logits_that_differ_by_a_constant() -> None:
    teacher = torch.tensor([[1.0, -2.0, 0.5]])

    assert dkd(teacher + 7.0, teacher, LABELS).item() == pytest.approx(0.0, abs=1e-4)


def test_it_is_plain_kl_where_the_others_weigh_what_the_target_leaves() -> None:
    """Where the paper starts from: KL = target part + (1 - p_t) · other part."""
    teacher, student = torch.randn(1, 5, dtype=torch.float64), torch.randn(1, 5, dtype=torch.float64)
    left = 1 - (teacher / 3).softmax(dim=-1)[0, 2].item()

    loss = dkd(student, teacher, torch.tensor([2]), temperature=3.0, target_weight=1.0, other_weight=left)

    torch.testing.assert_close(loss, soft_targets(student, teacher, temperature=3.0))


def test_rows_follow_an_independent_formula() -> None:
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(2, 6, 4))
    labels = np.array([0, 3, 1, -1, 2, -1])

    loss = dkd(torch.tensor(student), torch.tensor(teacher), torch.tensor(labels))

    rows = [
        _row(student[row], teacher[row], labels[row] if labels[row] >= 0 else teacher[row].argmax()) for row in range(6)
    ]
    assert loss.item() == pytest.approx(np.mean(rows), rel=1e-9)


def test_a_row_without_a_label_has_the_teacher_s_choice_for_target() -> None:
    teacher, student = torch.tensor([[0.0, 5.0, 1.0]]), torch.randn(1, 3)

    without = dkd(student, teacher, torch.tensor([-1]))

    assert without.item() == dkd(student, teacher, torch.tensor([1])).item()
    assert without.item() != dkd(student, teacher, torch.tensor([0])).item()


def test_with_two_classes_there_is_nothing_to_learn_from_the_others() -> None:
    teacher = torch.tensor([[2.0, -1.0], [0.5, 0.1]])
    student = torch.tensor([[-1.0, 1.0], [0.3, 2.0]], requires_grad=True)

    others = dkd(student, teacher, torch.tensor([0, 1]), target_weight=0.0, other_weight=8.0)
    (gradient,) = torch.autograd.grad(others, student)

    assert others.item() == 0.0
    assert gradient.abs().max().item() == 0.0


def test_the_gradient_is_that_of_finite_differences() -> None:
    teacher = torch.randn(3, 4, dtype=torch.float64)
    student = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(lambda logits: dkd(logits, teacher, torch.tensor([1, -1, 3])), student)


def test_huge_logits_give_a_finite_loss_and_gradient() -> None:
    student = torch.tensor([[-1e4, 1e4, 0.0]], requires_grad=True)

    loss = dkd(student, torch.tensor([[1e4, -1e4, 0.0]]), LABELS)
    (gradient,) = torch.autograd.grad(loss, student)

    assert math.isfinite(loss.item())
    assert torch.isfinite(gradient).all()


def _row(student: np.ndarray, teacher: np.ndarray, target: int) -> float:
    """α = 1, β = 8, T = 4, from probabilities."""
    p, q = (np.exp(logits / 4) / np.exp(logits / 4).sum() for logits in (teacher, student))
    p_rest, q_rest = np.delete(p, target) / (1 - p[target]), np.delete(q, target) / (1 - q[target])
    binary_p, binary_q = np.array([p[target], 1 - p[target]]), np.array([q[target], 1 - q[target]])
    target_part = (binary_p * np.log(binary_p / binary_q)).sum()
    return float(16 * (target_part + 8 * (p_rest * np.log(p_rest / q_rest)).sum()))
