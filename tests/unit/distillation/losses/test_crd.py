"""Contrastive distillation: the own row against drawn ones."""

import math

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.features import agreements, crd


def test_hand_worked_value() -> None:
    """Two drawn of four rows: N/M = 1/2. The student's densities are at the noise, the teacher's own is far above."""
    student = torch.tensor([[0.5, 0.5, 0.5]])  # every h is 1/2
    teacher = torch.tensor([[1.5, 0.5, 0.0]])  # h = 3/4 for the own row, 1/2 and 0 for the drawn ones

    expected = 3 * math.log(2) - math.log(3 / 4) - math.log(1 / 2) - math.log(1)

    assert crd(student, teacher, bank_rows=4).item() == pytest.approx(expected, rel=1e-5)


def test_it_follows_an_independent_formula() -> None:
    random = np.random.default_rng(0)
    student, teacher = random.uniform(0.01, 2, size=(2, 5, 9))

    loss = crd(torch.tensor(student), torch.tensor(teacher), bank_rows=100)

    def side(p: np.ndarray) -> float:
        h = p / (p + 8 / 100)
        return float(-(np.log(h[:, 0]) + np.log(1 - h[:, 1:]).sum(axis=1)).mean())

    assert loss.item() == pytest.approx(side(student) + side(teacher), rel=1e-4)


def test_it_is_nearly_zero_where_only_the_own_row_agrees() -> None:
    densities = torch.tensor([[1e6, 0.0, 0.0], [1e6, 0.0, 0.0]])

    assert crd(densities, densities, bank_rows=3).item() == pytest.approx(0.0, abs=1e-5)


def test_agreement_is_the_exponential_of_the_cosine_over_the_temperature() -> None:
    bank = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])

    found = agreements(vectors, bank, torch.tensor([[0, 2], [0, 1]]), temperature=0.5)

    expected = torch.tensor([[math.exp(2), math.exp(1.2)], [1.0, math.exp(2)]])
    torch.testing.assert_close(found, expected)


def test_a_step_down_the_gradient_goes_to_the_own_vector_and_away_from_drawn_ones() -> None:
    bank = torch.eye(3)
    vector = torch.full((1, 3), 3**-0.5, requires_grad=True)
    densities = agreements(vector, bank, torch.tensor([[0, 1, 2]]), temperature=0.07)

    torch.autograd.backward(crd(densities, densities.detach(), bank_rows=3))

    assert vector.grad is not None
    assert vector.grad[0, 0] < 0 < vector.grad[0, 1]
    assert vector.grad[0, 1].item() == pytest.approx(vector.grad[0, 2].item())
