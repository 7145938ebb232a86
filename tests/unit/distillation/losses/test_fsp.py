"""Products of two layers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.layers import fsp

Array = npt.NDArray[np.float64]
Layers = tuple[Array, Array]  # a lower and an upper one
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def flow(lower: Array, upper: Array, row: int, length: int) -> Array:
    """The product of the layers of a row, token by token."""
    return np.asarray(sum(np.outer(lower[row, token], upper[row, token]) for token in range(length)) / length)


def by_hand(student: Layers, teacher: Layers) -> float:
    rows = [(flow(*student, row, length) - flow(*teacher, row, length)) ** 2 for row, length in enumerate(LENGTHS)]
    return float(np.mean(rows))


def layers(seed: int) -> Layers:
    random = np.random.default_rng(seed)
    return random.normal(size=(2, 3, 4)), random.normal(size=(2, 3, 4))


def tensors(arrays: Layers) -> tuple[Tensor, Tensor]:
    return torch.tensor(arrays[0]), torch.tensor(arrays[1])


def test_hand_worked_value() -> None:
    lower = torch.tensor([[[1.0, 0.0], [1.0, 2.0], [9.0, 9.0]]])
    upper = torch.tensor([[[4.0, 0.0], [0.0, 2.0], [9.0, 9.0]]])  # products (4 0; 0 0) and (0 2; 0 4): G = (2 1; 0 2)
    mask = torch.tensor([[1, 1, 0]])

    loss = fsp(lower, upper, torch.zeros(1, 3, 2), torch.zeros(1, 3, 2), mask)

    assert loss.item() == (4 + 1 + 0 + 4) / 4


def test_it_is_the_mean_over_rows_and_cells() -> None:
    student, teacher = layers(1), layers(2)

    loss = fsp(*tensors(student), *tensors(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_equal_layers() -> None:
    lower, upper = tensors(layers(1))

    assert fsp(lower, upper, lower, upper, MASK).item() == 0.0


@pytest.mark.parametrize("which", [0, 1])
def test_the_gradient_is_that_of_finite_differences(which: int, slopes: Callable[..., Array]) -> None:
    student, teacher = layers(1), layers(2)
    lower, upper = (tensor.requires_grad_() for tensor in tensors(student))

    def formula(point: Array) -> float:
        return by_hand((point, student[1]) if which == 0 else (student[0], point), teacher)

    (gradient,) = torch.autograd.grad(fsp(lower, upper, *tensors(teacher), MASK), (lower, upper)[which])

    np.testing.assert_allclose(gradient.numpy(), slopes(formula, student[which]), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = layers(1), layers(2)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 2), (0, 0)), "constant_values": garbage}
    lower, upper = (torch.tensor(np.pad(array, **wider), requires_grad=True) for array in student)
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = fsp(lower, upper, *tensors((np.pad(teacher[0], **wider), np.pad(teacher[1], **wider))), mask)
    gradients = torch.stack(torch.autograd.grad(loss, (lower, upper)))

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradients[:, mask == 0].abs().max().item() == 0.0
    assert gradients.isfinite().all()


def test_another_width_is_refused() -> None:
    narrow, wide = torch.zeros(2, 3, 1), torch.zeros(2, 3, 4)

    with pytest.raises(ValueError, match="same shape"):
        fsp(narrow, narrow, wide, wide, MASK)
