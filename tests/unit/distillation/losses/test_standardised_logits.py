"""Soft targets on z-scored logits."""

import numpy as np
import pytest
import torch

from limbeck.distillation.losses.logits import standardised_logits

STUDENT = np.random.default_rng(0).normal(size=(5, 4))
TEACHER = np.random.default_rng(1).normal(size=(5, 4))


def test_rows_follow_an_independent_formula_with_the_population_s_deviation() -> None:
    loss = standardised_logits(torch.tensor(STUDENT), torch.tensor(TEACHER), temperature=3.0)

    def probabilities(logits: np.ndarray) -> np.ndarray:
        z = (logits - logits.mean(axis=1, keepdims=True)) / logits.std(axis=1, ddof=0, keepdims=True)
        return np.asarray(np.exp(z / 3) / np.exp(z / 3).sum(axis=1, keepdims=True))

    p, q = probabilities(TEACHER), probabilities(STUDENT)
    assert loss.item() == pytest.approx(9 * (p * np.log(p / q)).sum() / 5, rel=1e-9)


def test_it_is_zero_for_logits_of_another_shift_and_scale() -> None:
    teacher = torch.tensor(TEACHER)

    assert standardised_logits(0.1 * teacher - 4, teacher).item() == pytest.approx(0.0, abs=1e-12)
    assert standardised_logits(-teacher, teacher).item() > 0.1


def test_the_gradient_is_that_of_finite_differences_and_leaves_the_scale_alone() -> None:
    student, teacher = torch.tensor(STUDENT, requires_grad=True), torch.tensor(TEACHER)

    assert torch.autograd.gradcheck(lambda logits: standardised_logits(logits, teacher), student)
    (gradient,) = torch.autograd.grad(standardised_logits(student, teacher), student)
    along = (gradient * student.detach()).sum(dim=1)  # what a longer row of logits would change
    torch.testing.assert_close(along, torch.zeros_like(along), rtol=0, atol=1e-12)


def test_with_two_classes_only_the_sign_of_the_teacher_is_left() -> None:
    student = torch.tensor([[0.3, 0.1]], dtype=torch.float64, requires_grad=True)
    sure, unsure = torch.tensor([[-9.0, 9.0]]).double(), torch.tensor([[-0.01, 0.02]]).double()

    wrong = standardised_logits(student, sure)
    (gradient,) = torch.autograd.grad(wrong, student)

    assert wrong.item() == pytest.approx(standardised_logits(student, unsure).item(), rel=1e-12)
    assert wrong.item() > 1
    assert standardised_logits(student, -sure).item() == pytest.approx(0.0, abs=1e-12)
    assert gradient.abs().max().item() < 1e-12


@pytest.mark.parametrize("constant", [0.0, 5.1, -1e4])
def test_a_row_of_equal_logits_gives_a_finite_loss_and_no_gradient(constant: float) -> None:
    student = torch.full((1, 3), constant, requires_grad=True)

    loss = standardised_logits(student, torch.tensor([[1.0, 2.0, 4.0]]))
    (gradient,) = torch.autograd.grad(loss, student)

    assert 0 < loss.item() < 10
    assert gradient.abs().max().item() == 0.0
