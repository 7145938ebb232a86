"""The squared difference of hidden states, over real tokens."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.distillation.losses.layers import hidden_mse

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def by_hand(student: Array, teacher: Array) -> float:
    """The same mean, gathered token by token."""
    squares = [
        (student[row, token] - teacher[row, token]) ** 2
        for row, length in enumerate(LENGTHS)
        for token in range(length)
    ]
    return float(np.mean(squares))


def states(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(2, 3, 4))


def test_hand_worked_value() -> None:
    student = torch.tensor([[[1.0, 2.0], [0.0, 0.0]]])
    teacher = torch.tensor([[[0.0, 4.0], [9.0, 9.0]]])
    mask = torch.tensor([[1, 0]])

    assert hidden_mse(student, teacher, mask).item() == (1 + 4) / 2


def test_it_is_the_mean_over_all_real_tokens_of_the_batch() -> None:
    student, teacher = states(1), states(2)

    loss = hidden_mse(torch.tensor(student), torch.tensor(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_equal_states() -> None:
    same = torch.tensor(states(1))

    assert hidden_mse(same, same.clone(), MASK).item() == 0.0


def test_the_gradient_is_that_of_finite_differences(slopes: Callable[..., Array]) -> None:
    student, teacher = states(1), states(2)
    learning = torch.tensor(student, requires_grad=True)

    (gradient,) = torch.autograd.grad(hidden_mse(learning, torch.tensor(teacher), MASK), learning)

    np.testing.assert_allclose(gradient.numpy(), slopes(lambda point: by_hand(point, teacher), student), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = states(1), states(2)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 2), (0, 0)), "constant_values": garbage}
    learning = torch.tensor(np.pad(student, **wider), requires_grad=True)
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = hidden_mse(learning, torch.tensor(np.pad(teacher, **wider)), mask)
    (gradient,) = torch.autograd.grad(loss, learning)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradient[mask == 0].abs().max().item() == 0.0


def test_half_precision_is_summed_in_full_precision() -> None:
    student, teacher = torch.full((1, 4, 4096), 200.0), torch.zeros(1, 4, 4096)

    loss = hidden_mse(student.half(), teacher.half(), torch.ones(1, 4))

    assert loss.dtype == torch.float32
    assert loss.item() == 40_000.0  # in half precision the sum would be infinite


def test_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        hidden_mse(torch.zeros(2, 3, 1), torch.zeros(2, 3, 4), MASK)
