"""Relations of queries, keys and values in heads of their own."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from limbeck.distillation.losses.layers import minilm_v2

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])
RELATION_HEADS = 4


def relations(heads: Array, row: int, length: int) -> list[Array]:
    """The relation matrices of a row, one for each relation head, cut out of the joined heads column by column."""
    joined = np.concatenate([heads[row, head, :length] for head in range(heads.shape[1])], axis=-1)
    width = joined.shape[1] // RELATION_HEADS
    found = []
    for number in range(RELATION_HEADS):
        part = joined[:, number * width : (number + 1) * width]
        powers = np.exp(part @ part.T / math.sqrt(width))
        found.append(np.asarray(powers / powers.sum(axis=-1, keepdims=True)))
    return found


def by_hand(student: list[Array], teacher: list[Array]) -> float:
    total = 0.0
    for of_student, of_teacher in zip(student, teacher, strict=True):
        found: list[float] = []
        for row, length in enumerate(LENGTHS):
            pairs = zip(relations(of_student, row, length), relations(of_teacher, row, length), strict=True)
            for q, p in pairs:
                found += list(np.sum(p * np.log(p / q), axis=-1))
        total += float(np.mean(found))
    return total


def vectors(seed: int, *, heads: int, head_width: int) -> list[Array]:
    """Queries, keys and values."""
    random = np.random.default_rng(seed)
    return [random.normal(size=(2, heads, 3, head_width)) for _ in range(3)]


def tensors(arrays: list[Array]) -> tuple[Tensor, Tensor, Tensor]:
    queries, keys, values = (torch.tensor(array) for array in arrays)
    return queries, keys, values


def test_hand_worked_value() -> None:
    """Two vectors (a, 0) and (0, a) with a² / √2 = ln 3 relate as 3 to 1; vectors of zero relate evenly."""
    apart = torch.eye(2)[None, None] * math.sqrt(math.sqrt(2) * math.log(3))
    zeros = torch.zeros(1, 1, 2, 2)
    kl = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)

    loss = minilm_v2((zeros, zeros, zeros), (apart, zeros, apart), torch.ones(1, 2), relation_heads=1)

    assert loss.item() == pytest.approx(kl + 0 + kl, rel=1e-5)


def test_heads_and_widths_of_teacher_and_student_may_differ() -> None:
    student, teacher = vectors(1, heads=2, head_width=4), vectors(2, heads=3, head_width=8)  # widths 8 and 24

    loss = minilm_v2(tensors(student), tensors(teacher), MASK, relation_heads=RELATION_HEADS)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_the_same_vectors_in_another_number_of_heads() -> None:
    teacher = vectors(1, heads=2, head_width=8)
    as_four_heads = [
        np.concatenate([array[:, :, :, :4], array[:, :, :, 4:]], axis=1)[:, [0, 2, 1, 3]] for array in teacher
    ]

    loss = minilm_v2(tensors(as_four_heads), tensors(teacher), MASK, relation_heads=RELATION_HEADS)

    assert loss.item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_gradient_is_that_of_finite_differences(which: int, slopes: Callable[..., Array]) -> None:
    student, teacher = vectors(1, heads=2, head_width=4), vectors(2, heads=3, head_width=8)
    queries, keys, values = (tensor.requires_grad_() for tensor in tensors(student))

    def formula(point: Array) -> float:
        return by_hand([*student[:which], point, *student[which + 1 :]], teacher)

    loss = minilm_v2((queries, keys, values), tensors(teacher), MASK, relation_heads=RELATION_HEADS)
    (gradient,) = torch.autograd.grad(loss, (queries, keys, values)[which])

    np.testing.assert_allclose(gradient.numpy(), slopes(formula, student[which]), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = vectors(1, heads=2, head_width=4), vectors(2, heads=3, head_width=8)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 0), (0, 2), (0, 0)), "constant_values": garbage}
    learning = tensors([np.pad(array, **wider) for array in student])
    for tensor in learning:
        tensor.requires_grad_()
    mask = torch.nn.functional.pad(MASK, (0, 2))

    padded_teacher = tensors([np.pad(array, **wider) for array in teacher])
    loss = minilm_v2(learning, padded_teacher, mask, relation_heads=RELATION_HEADS)
    gradients = torch.stack(torch.autograd.grad(loss, learning))

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradients[:, :, :, 3:].abs().max().item() == 0.0
    assert gradients[:, 1, :, 2].abs().max().item() == 0.0
    assert gradients.isfinite().all()


@pytest.mark.parametrize("relation_heads", [3, 0])
def test_relation_heads_that_do_not_divide_a_width_are_refused(relation_heads: int) -> None:
    student, teacher = vectors(1, heads=2, head_width=4), vectors(2, heads=3, head_width=8)

    with pytest.raises(ValueError, match=f"8 is not a multiple of {relation_heads}"):
        minilm_v2(tensors(student), tensors(teacher), MASK, relation_heads=relation_heads)
