"""Which tokens are alike."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.distillation.losses.layers import nst

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def cosine(one: Array, other: Array) -> float:
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def by_hand(student: Array, teacher: Array) -> float:
    """The same mean, gathered pair by pair."""
    found = []
    for row, length in enumerate(LENGTHS):
        for one, other in np.ndindex(length, length):
            in_student = cosine(student[row, one], student[row, other])
            found.append((in_student - cosine(teacher[row, one], teacher[row, other])) ** 2)
    return float(np.mean(found))


def states(seed: int, *, width: int) -> Array:
    return np.random.default_rng(seed).normal(size=(2, 3, width))


def test_hand_worked_value() -> None:
    student = torch.tensor([[[2.0, 0.0], [0.0, 5.0]]])  # tokens at a right angle
    teacher = torch.tensor([[[1.0, 0.0, 0.0], [3.0, 0.0, 4.0]]])  # tokens with a cosine of 3/5

    loss = nst(student, teacher, torch.ones(1, 2))

    assert loss.item() == pytest.approx((0 + 0.36 + 0.36 + 0) / 4, rel=1e-5)


def test_it_is_the_mean_over_all_real_pairs_of_the_batch_for_any_widths() -> None:
    student, teacher = states(1, width=4), states(2, width=6)

    loss = nst(torch.tensor(student), torch.tensor(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_the_mean_discrepancy_of_neurons_under_the_squared_kernel() -> None:
    """Huang & Wang's own form: means of (x · y)² over neurons of the one, of the other, and of both."""
    student, teacher = states(1, width=4)[0], states(2, width=6)[0]

    def neurons(tokens: Array) -> Array:
        unit = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
        return np.asarray(math.sqrt(tokens.shape[1]) * unit.T)  # (width, tokens)

    def kernel(ones: Array, others: Array) -> float:
        return float(np.mean((ones @ others.T) ** 2))

    s, t = neurons(student), neurons(teacher)
    discrepancy = kernel(s, s) + kernel(t, t) - 2 * kernel(s, t)

    loss = nst(torch.tensor(student[None]), torch.tensor(teacher[None]), torch.ones(1, 3))

    assert loss.item() == pytest.approx(discrepancy / 9, rel=1e-4)  # 3 × 3 pairs of tokens


def test_it_is_zero_for_states_that_are_rotated_and_scaled() -> None:
    teacher = torch.tensor(states(1, width=4))
    rotation = torch.linalg.qr(torch.tensor(np.random.default_rng(0).normal(size=(4, 4))))[0]

    assert nst(3.0 * teacher @ rotation, teacher, MASK).item() == pytest.approx(0.0, abs=1e-10)


def test_the_gradient_is_that_of_finite_differences(slopes: Callable[..., Array]) -> None:
    student, teacher = states(1, width=4), states(2, width=6)
    learning = torch.tensor(student, requires_grad=True)

    (gradient,) = torch.autograd.grad(nst(learning, torch.tensor(teacher), MASK), learning)

    np.testing.assert_allclose(gradient.numpy(), slopes(lambda point: by_hand(point, teacher), student), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = states(1, width=4), states(2, width=6)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 2), (0, 0)), "constant_values": garbage}
    learning = torch.tensor(np.pad(student, **wider), requires_grad=True)
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = nst(learning, torch.tensor(np.pad(teacher, **wider)), mask)
    (gradient,) = torch.autograd.grad(loss, learning)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradient[mask == 0].abs().max().item() == 0.0
    assert gradient.isfinite().all()
