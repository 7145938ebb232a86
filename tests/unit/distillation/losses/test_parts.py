"""Vectors of length one."""

import pytest
import torch

from limbeck.distillation.losses.parts import centred_unit_vectors, unit_vectors


def test_every_vector_has_length_one_and_keeps_its_direction() -> None:
    vectors = torch.tensor([[3.0, 4.0], [0.0, -0.001]])

    torch.testing.assert_close(unit_vectors(vectors), torch.tensor([[0.6, 0.8], [0.0, -1.0]]))


def test_zeros_stay_zeros_and_get_no_gradient() -> None:
    """PyTorch's `normalize` has a gradient of 1e12 here."""
    vectors = torch.zeros(1, 3, requires_grad=True)

    (gradient,) = torch.autograd.grad(unit_vectors(vectors).sum(), vectors)

    assert unit_vectors(vectors).tolist() == [[0.0, 0.0, 0.0]]
    assert gradient.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("dim", [0, 1])
def test_centred_vectors_have_mean_zero_and_length_one(dim: int) -> None:
    units = centred_unit_vectors(torch.randn(4, 5) + 3, dim=dim)

    torch.testing.assert_close(units.sum(dim=dim), torch.zeros(9 - units.shape[dim]), rtol=0, atol=1e-6)
    torch.testing.assert_close(units.norm(dim=dim), torch.ones(9 - units.shape[dim]))


def test_equal_values_are_zeros_however_the_mean_was_rounded() -> None:
    vectors = torch.linspace(0.1, 1e5, 100)[:, None].repeat(1, 7)
    assert (vectors != vectors.mean(dim=1, keepdim=True)).any()  # there is rounding to be seen

    assert centred_unit_vectors(vectors).abs().max().item() == 0.0


def test_small_differences_around_a_large_mean_still_count() -> None:
    units = centred_unit_vectors(torch.tensor([[100.0, 100.001]]))

    assert units[0, 1].item() == pytest.approx(0.5**0.5, rel=1e-2)
