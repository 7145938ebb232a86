"""The KL divergence of attention over real keys."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from limbeck.distillation.losses.layers import attention_kl

Array = npt.NDArray[np.float64]
LENGTHS = [3, 2]
MASK = torch.tensor([[1, 1, 1], [1, 1, 0]])


def softmax(scores: Array) -> Array:
    powers = np.exp(scores)
    return np.asarray(powers / powers.sum())


def by_hand(student: Array, teacher: Array) -> float:
    """The same mean, gathered query by query from the real keys of each row."""
    found = []
    for row, length in enumerate(LENGTHS):
        for head, query in np.ndindex(student.shape[1], length):
            p, q = softmax(teacher[row, head, query, :length]), softmax(student[row, head, query, :length])
            found.append(float(np.sum(p * np.log(p / q))))
    return float(np.mean(found))


def scores(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(2, 2, 3, 3))


def test_hand_worked_value() -> None:
    teacher = torch.tensor(
        [[[[math.log(3), 0.0, 8.0], [0.0, 0.0, 9.0], [1.0, 2.0, 3.0]]]]
    )  # p = (3/4, 1/4); (1/2, 1/2)
    student = torch.zeros(1, 1, 3, 3)  # q = (1/2, 1/2) both times
    mask = torch.tensor([[1, 1, 0]])

    expected = (0.75 * math.log(1.5) + 0.25 * math.log(0.5) + 0.0) / 2

    assert attention_kl(student, teacher, mask).item() == pytest.approx(expected, rel=1e-5)


def test_it_is_the_mean_over_all_heads_and_real_queries_of_the_batch() -> None:
    student, teacher = scores(1), scores(2)

    loss = attention_kl(torch.tensor(student), torch.tensor(teacher), MASK)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)


def test_it_is_zero_for_scores_that_differ_by_a_constant_for_each_query() -> None:
    teacher = torch.tensor(scores(1))
    constants = torch.tensor([1.0, -2.0, 5.0])[:, None]

    assert attention_kl(teacher + constants, teacher, MASK).item() == pytest.approx(0.0, abs=1e-6)


def test_it_goes_from_teacher_to_student() -> None:
    """The teacher's weight on what the student leaves out costs more than the other way round."""
    torn, sure = torch.zeros(1, 1, 2, 2), torch.tensor([[[[9.0, 0.0], [9.0, 0.0]]]])
    mask = torch.ones(1, 2)

    expected = 0.5 * math.log(0.5) * 2 + 0.5 * (math.log1p(math.exp(-9)) + 9 + math.log1p(math.exp(-9)))

    assert attention_kl(sure, torn, mask).item() == pytest.approx(expected, rel=1e-5)
    assert attention_kl(torn, sure, mask).item() < math.log(2)


def test_the_gradient_is_that_of_finite_differences(slopes: Callable[..., Array]) -> None:
    student, teacher = scores(1), scores(2)
    learning = torch.tensor(student, requires_grad=True)

    (gradient,) = torch.autograd.grad(attention_kl(learning, torch.tensor(teacher), MASK), learning)

    np.testing.assert_allclose(gradient.numpy(), slopes(lambda point: by_hand(point, teacher), student), atol=1e-5)


@pytest.mark.parametrize("garbage", [1e6, -1e9, -math.inf, math.nan])
def test_padding_changes_nothing_and_learns_nothing(garbage: float) -> None:
    student, teacher = scores(1), scores(2)
    wider: dict[str, Any] = {"pad_width": ((0, 0), (0, 0), (0, 2), (0, 2)), "constant_values": garbage}
    learning = torch.tensor(np.pad(student, **wider), requires_grad=True)
    mask = torch.nn.functional.pad(MASK, (0, 2))

    loss = attention_kl(learning, torch.tensor(np.pad(teacher, **wider)), mask)
    (gradient,) = torch.autograd.grad(loss, learning)

    assert loss.item() == pytest.approx(by_hand(student, teacher), rel=1e-5)
    assert gradient[:, :, 3:, :].abs().max().item() == 0.0
    assert gradient[:, :, :, 3:].abs().max().item() == 0.0
    assert gradient[1, :, 2, :].abs().max().item() == 0.0


def test_a_row_of_padding_alone_adds_nothing() -> None:
    student, teacher = torch.tensor(scores(1)), torch.tensor(scores(2))
    nothing_in_the_second = torch.tensor([[1, 1, 1], [0, 0, 0]])

    both = attention_kl(student, teacher, nothing_in_the_second)
    first_alone = attention_kl(student[:1], teacher[:1], nothing_in_the_second[:1])

    torch.testing.assert_close(both, first_alone)


def test_huge_scores_give_a_finite_loss() -> None:
    student, teacher = torch.tensor([[[[-1e4, 1e4], [0.0, 0.0]]]]), torch.tensor([[[[1e4, -1e4], [0.0, 0.0]]]])

    assert attention_kl(student, teacher, torch.ones(1, 2)).item() == pytest.approx(1e4, rel=1e-5)  # 2e4 over 2 queries


def test_a_student_of_one_head_is_not_stretched_over_the_teachers() -> None:
    with pytest.raises(ValueError, match="same shape"):
        attention_kl(torch.zeros(2, 1, 3, 3), torch.zeros(2, 4, 3, 3), MASK)
