"""One minus the cosine of hidden states, over real tokens."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.distillation.losses.layers import hidden_cosine

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def by_hand(student: Array, teacher: Array) -> float:
    """The same mean, gathered token by token."""
    found = []
    for row, length in enumerate(LENGTHS):
        for token in range(length):
            one, other = student[row, token], teacher[row, token]
            found.append(1 - one @ other / math.sqrt((one @ one) * (other @ other)))
    return float(np.mean(found))


def states(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(2, 3, 4))


def test_hand_worked_value() -> None:
    student = torch.tensor([[[1.0, 0.0], [3.0, 4.0], [5.0, 5.0]]])
    teacher = torch.tensor([[[0.0, 2.0], [6.0, 8.0], [-1.0, 0.0]]])
    mask = torch.tensor([[1, 1, 0]])  # a right angle, the same direction, padding

    assert hidden_cosine(student, teacher, mask).item() == pytest.approx((1 + 0) / 2, abs=1e-6)


def test_it_is_the_mean_over_all_real_tokens_of_the_batch() -> None:
    student, teacher = states(1), states(2)

    loss = hidden_cosine(torch.tensor(student), torch.tensor(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_states_of_the_same_direction_and_any_length() -> None:
    teacher = torch.tensor(states(1))

    assert hidden_cosine(teacher * 7.0, teacher, MASK).item() == pytest.approx(0.0, abs=1e-6)


def test_it_is_two_for_opposite_states() -> None:
    teacher = torch.tensor(states(1))

    assert hidden_cosine(-teacher, teacher, MASK).item() == pytest.approx(2.0, rel=1e-6)


def test_the_gradient_is_that_of_finite_differences(slopes: Callable[..., Array]) -> None:
    student, teacher = states(1), states(2)
    learning = torch.tensor(student, requires_grad=True)

    (gradient,) = torch.autograd.grad(hidden_cosine(learning, torch.tensor(teacher), MASK), learning)

    np.testing.assert_allclose(gradient.numpy(), slopes(lambda point: by_hand(point, teacher), student), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = states(1), states(2)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 2), (0, 0)), "constant_values": garbage}
    learning = torch.tensor(np.pad(student, **wider), requires_grad=True)
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = hidden_cosine(learning, torch.tensor(np.pad(teacher, **wider)), mask)
    (gradient,) = torch.autograd.grad(loss, learning)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradient[mask == 0].abs().max().item() == 0.0
    assert gradient.isfinite().all()
