"""Squared distances of unit vectors, layer by layer."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.distillation.losses.layers import pkd

Array = npt.NDArray[np.float64]
LAYERS, ROWS = 2, 3


def by_hand(student: Array, teacher: Array) -> float:
    """The paper's sum over layers and rows, divided by both."""
    total = 0.0
    for layer, row in np.ndindex(LAYERS, ROWS):
        one, other = student[layer, row], teacher[layer, row]
        apart = one / math.sqrt(one @ one) - other / math.sqrt(other @ other)
        total += float(apart @ apart)
    return total / (LAYERS * ROWS)


def states(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(LAYERS, ROWS, 4))


def test_hand_worked_value() -> None:
    student = torch.tensor([[[5.0, 0.0], [0.0, -2.0]]])
    teacher = torch.tensor([[[0.0, 3.0], [0.0, 7.0]]])  # a right angle: 2; the opposite: 4

    assert pkd(student, teacher).item() == pytest.approx((2 + 4) / 2)


def test_it_is_the_mean_over_layers_and_rows() -> None:
    student, teacher = states(1), states(2)

    loss = pkd(torch.tensor(student), torch.tensor(teacher))

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_states_of_the_same_direction_and_any_length() -> None:
    teacher = torch.tensor(states(1))

    assert pkd(teacher * 5.0, teacher).item() == pytest.approx(0.0, abs=1e-10)


def test_the_gradient_is_that_of_finite_differences(slopes: Callable[..., Array]) -> None:
    student, teacher = states(1), states(2)
    learning = torch.tensor(student, requires_grad=True)

    (gradient,) = torch.autograd.grad(pkd(learning, torch.tensor(teacher)), learning)

    np.testing.assert_allclose(gradient.numpy(), slopes(lambda point: by_hand(point, teacher), student), atol=1e-5)


def test_another_number_of_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        pkd(torch.zeros(1, ROWS, 4), torch.zeros(LAYERS, ROWS, 4))
