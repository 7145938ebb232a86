"""Attention and value relation of MiniLM."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.layers import minilm

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def softmax(scores: Array) -> Array:
    powers = np.exp(scores)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def divergence(student: tuple[Array, Array], teacher: tuple[Array, Array]) -> float:
    """Mean KL of the attention of two vectors for each token, gathered from the real tokens of each row and head."""
    found = []
    for row, length in enumerate(LENGTHS):
        for head in range(student[0].shape[1]):
            p, q = (
                softmax(first[row, head, :length] @ second[row, head, :length].T / math.sqrt(first.shape[-1]))
                for first, second in (teacher, student)
            )
            found += list(np.sum(p * np.log(p / q), axis=-1))
    return float(np.mean(found))


def by_hand(student: list[Array], teacher: list[Array]) -> float:
    attention = divergence((student[0], student[1]), (teacher[0], teacher[1]))
    return attention + divergence((student[2], student[2]), (teacher[2], teacher[2]))


def vectors(seed: int, *, head_width: int) -> list[Array]:
    """Queries, keys and values."""
    random = np.random.default_rng(seed)
    return [random.normal(size=(2, 2, 3, head_width)) for _ in range(3)]


def tensors(arrays: list[Array]) -> tuple[Tensor, Tensor, Tensor]:
    queries, keys, values = (torch.tensor(array) for array in arrays)
    return queries, keys, values


def test_hand_worked_value() -> None:
    """Queries of zero attend evenly; values (a, 0) and (0, a) with a² / √2 = ln 3 relate as 3 to 1."""
    zeros = torch.zeros(1, 1, 2, 2)
    looking_at_the_first = torch.tensor([[[[math.sqrt(2) * math.log(3), 0.0], [0.0, 0.0]]]])  # as keys
    ones = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])  # as queries: p = (3/4, 1/4)
    apart = torch.eye(2)[None, None] * math.sqrt(math.sqrt(2) * math.log(3))
    kl = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)

    loss = minilm(zeros, zeros, zeros, ones, looking_at_the_first, apart, torch.ones(1, 2))

    assert loss.item() == pytest.approx(kl + kl, rel=1e-5)


def test_it_is_the_sum_of_both_divergences_for_any_width_of_a_head() -> None:
    student, teacher = vectors(1, head_width=4), vectors(2, head_width=6)

    loss = minilm(*tensors(student), *tensors(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_equal_vectors() -> None:
    same = tensors(vectors(1, head_width=4))

    assert minilm(*same, *same, MASK).item() == pytest.approx(0.0, abs=1e-6)


def test_it_does_not_see_a_rotation_of_the_values() -> None:
    queries, keys, values = tensors(vectors(1, head_width=4))
    rotation = torch.linalg.qr(torch.tensor(np.random.default_rng(0).normal(size=(4, 4))))[0]

    loss = minilm(queries, keys, values @ rotation, queries, keys, values, MASK)

    assert loss.item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_gradient_is_that_of_finite_differences(which: int, slopes: Callable[..., Array]) -> None:
    student, teacher = vectors(1, head_width=4), vectors(2, head_width=6)
    learning = tensors(student)
    learning[which].requires_grad_()

    def formula(point: Array) -> float:
        return by_hand([*student[:which], point, *student[which + 1 :]], teacher)

    (gradient,) = torch.autograd.grad(minilm(*learning, *tensors(teacher), MASK), learning[which])

    np.testing.assert_allclose(gradient.numpy(), slopes(formula, student[which]), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = vectors(1, head_width=4), vectors(2, head_width=6)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 0), (0, 2), (0, 0)), "constant_values": garbage}
    learning = tensors([np.pad(array, **wider) for array in student])
    for tensor in learning:
        tensor.requires_grad_()
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = minilm(*learning, *tensors([np.pad(array, **wider) for array in teacher]), mask)
    gradients = torch.stack(torch.autograd.grad(loss, learning))

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradients[:, :, :, 3:].abs().max().item() == 0.0
    assert gradients[:, 1, :, 2].abs().max().item() == 0.0
    assert gradients.isfinite().all()
