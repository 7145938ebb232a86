"""Relational distillation: distances and angles between rows."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.features import rkd_angle, rkd_distance

Loss = Callable[[Tensor, Tensor], Tensor]

RANDOM = np.random.default_rng(0)
STUDENT, TEACHER = RANDOM.normal(size=(6, 3)), RANDOM.normal(size=(6, 8))


def test_hand_worked_distances() -> None:
    teacher = torch.tensor([[0.0], [1.0], [2.0]])  # distances 1, 1, 2: by their mean 3/4, 3/4, 3/2
    student = torch.tensor([[0.0, 0.0], [3.0, 0.0], [1.5, 1.5 * math.sqrt(3)]])  # all 3: by their mean 1, 1, 1

    expected = (0.5 * 0.25**2 + 0.5 * 0.25**2 + 0.5 * 0.5**2) / 3

    assert rkd_distance(student, teacher).item() == pytest.approx(expected, rel=1e-5)


def test_hand_worked_angles() -> None:
    teacher = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # 90°, 45°, 45°
    student = torch.tensor([[0.0, 0.0], [3.0, 0.0], [1.5, 1.5 * math.sqrt(3)]])  # 60° three times

    expected = (0.5 * 0.5**2 + 2 * 0.5 * (math.sqrt(0.5) - 0.5) ** 2) / 3

    assert rkd_angle(student, teacher).item() == pytest.approx(expected, rel=1e-5)


def test_distances_follow_an_independent_formula() -> None:
    def relative(features: np.ndarray) -> np.ndarray:
        found = np.array([np.linalg.norm(a - b) for a, b in itertools.permutations(features, 2)])
        return np.asarray(found / found.mean())

    differences = np.abs(relative(STUDENT) - relative(TEACHER))

    expected = np.where(differences < 1, 0.5 * differences**2, differences - 0.5).mean()
    assert rkd_distance(torch.tensor(STUDENT), torch.tensor(TEACHER)).item() == pytest.approx(expected, rel=1e-9)


def test_angles_follow_an_independent_formula() -> None:
    expected = _angle_loss(list(itertools.permutations(range(6), 3)))

    assert rkd_angle(torch.tensor(STUDENT), torch.tensor(TEACHER)).item() == pytest.approx(expected, rel=1e-9)


def test_triples_with_two_rows_that_are_equal_for_the_teacher_are_skipped() -> None:
    teacher = torch.tensor(TEACHER)
    teacher[3] = teacher[0]

    without = [triple for triple in itertools.permutations(range(6), 3) if not {0, 3} <= {*triple}]
    expected = _angle_loss(without, teacher=teacher.numpy())

    assert rkd_angle(torch.tensor(STUDENT), teacher).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("loss", [rkd_distance, rkd_angle])
def test_it_is_zero_for_features_that_are_turned_moved_scaled_and_wider(loss: Loss) -> None:
    teacher = torch.tensor(TEACHER)
    turn = torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64)).Q
    student = torch.cat([5 * teacher @ turn + 3, torch.zeros(6, 2, dtype=torch.float64)], dim=1)

    assert loss(student, teacher).item() == pytest.approx(0.0, abs=1e-12)
    assert loss(torch.tensor(STUDENT), teacher).item() > 1e-3


@pytest.mark.parametrize("loss", [rkd_distance, rkd_angle])
def test_the_gradient_is_that_of_finite_differences(loss: Loss) -> None:
    student, teacher = torch.tensor(STUDENT, requires_grad=True), torch.tensor(TEACHER)

    assert torch.autograd.gradcheck(lambda features: loss(features, teacher), student)


@pytest.mark.parametrize("loss", [rkd_distance, rkd_angle])
@pytest.mark.parametrize("rows", [1, 2])
def test_one_or_two_rows_give_zero_and_no_gradient(loss: Loss, rows: int) -> None:
    student = torch.tensor(STUDENT[:rows], requires_grad=True)

    found = loss(student, torch.tensor(TEACHER[:rows]))
    (gradient,) = torch.autograd.grad(found, student)

    assert found.item() == pytest.approx(0.0, abs=1e-12)
    assert gradient.abs().max().item() < 1e-12


@pytest.mark.parametrize("loss", [rkd_distance, rkd_angle])
def test_equal_rows_leave_the_gradient_finite_and_the_others_learn(loss: Loss) -> None:
    student = torch.tensor(STUDENT)
    student[1] = student[0]
    student.requires_grad_()

    (gradient,) = torch.autograd.grad(loss(student, torch.tensor(TEACHER)), student)

    assert torch.isfinite(gradient).all()
    assert gradient[4].abs().max().item() > 1e-5


@pytest.mark.parametrize("loss", [rkd_distance, rkd_angle])
def test_a_student_that_has_collapsed_gives_a_finite_loss(loss: Loss) -> None:
    student = torch.ones(4, 3, requires_grad=True)

    found = loss(student, torch.tensor(TEACHER[:4], dtype=torch.float32))
    (gradient,) = torch.autograd.grad(found, student)

    assert math.isfinite(found.item())
    assert torch.isfinite(gradient).all()


def _angle_loss(triples: Sequence[tuple[int, ...]], *, teacher: np.ndarray = TEACHER) -> float:
    def cosines(features: np.ndarray) -> np.ndarray:
        legs = [(features[i] - features[j], features[k] - features[j]) for i, j, k in triples]
        return np.array([left @ right / np.linalg.norm(left) / np.linalg.norm(right) for left, right in legs])

    differences = np.abs(cosines(STUDENT) - cosines(teacher))
    return float(np.where(differences < 1, 0.5 * differences**2, differences - 0.5).mean())
