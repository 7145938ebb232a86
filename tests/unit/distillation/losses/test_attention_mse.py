"""The squared difference of attention scores, over pairs of real tokens."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.distillation.losses.layers import attention_mse

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def by_hand(student: Array, teacher: Array) -> float:
    """The same mean, gathered from the real corner of each row."""
    squares = [
        ((student[row, :, :length, :length] - teacher[row, :, :length, :length]) ** 2).ravel()
        for row, length in enumerate(LENGTHS)
    ]
    return float(np.mean(np.concatenate(squares)))


def scores(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(2, 2, 3, 3))


def test_hand_worked_value() -> None:
    student = torch.tensor([[[[1.0, 50.0], [60.0, 70.0]], [[3.0, 0.0], [0.0, 0.0]]]])
    teacher = torch.zeros(1, 2, 2, 2)
    mask = torch.tensor([[1, 0]])  # one real pair in each of two heads

    assert attention_mse(student, teacher, mask).item() == (1 + 9) / 2


def test_it_is_the_mean_over_all_real_pairs_of_the_batch() -> None:
    student, teacher = scores(1), scores(2)

    loss = attention_mse(torch.tensor(student), torch.tensor(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_equal_scores_and_not_for_shifted_ones() -> None:
    """A softmax would not tell the second from the first."""
    teacher = torch.tensor(scores(1))

    assert attention_mse(teacher.clone(), teacher, MASK).item() == 0.0
    assert attention_mse(teacher + 1.0, teacher, MASK).item() == pytest.approx(1.0, rel=1e-5)


def test_the_gradient_is_that_of_finite_differences(slopes: Callable[..., Array]) -> None:
    student, teacher = scores(1), scores(2)
    learning = torch.tensor(student, requires_grad=True)

    (gradient,) = torch.autograd.grad(attention_mse(learning, torch.tensor(teacher), MASK), learning)

    np.testing.assert_allclose(gradient.numpy(), slopes(lambda point: by_hand(point, teacher), student), atol=1e-5)


@pytest.mark.parametrize("garbage", [-1e9, -math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = scores(1), scores(2)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 0), (0, 2), (0, 2)), "constant_values": garbage}
    learning = torch.tensor(np.pad(student, **wider), requires_grad=True)
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = attention_mse(learning, torch.tensor(np.pad(teacher, **wider)), mask)
    (gradient,) = torch.autograd.grad(loss, learning)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradient[:, :, 3:, :].abs().max().item() == 0.0
    assert gradient[:, :, :, 3:].abs().max().item() == 0.0
    assert gradient[1, :, 2, :].abs().max().item() == 0.0


def test_a_student_of_one_head_is_not_stretched_over_the_teachers() -> None:
    with pytest.raises(ValueError, match="same shape"):
        attention_mse(torch.zeros(2, 1, 3, 3), torch.zeros(2, 4, 3, 3), MASK)
