"""Word vectors as a product: the nearest there is, and the same one each time."""

import pytest
import torch

from limbeck.models.word_student import low_rank


def test_vectors_of_that_rank_are_given_back_exactly() -> None:
    vectors = torch.randn(40, 3) @ torch.randn(3, 8)

    table, axes = low_rank(vectors, rank=3)

    assert table.shape == (40, 3)
    assert axes.shape == (8, 3)
    torch.testing.assert_close(table @ axes.T, vectors, rtol=0, atol=1e-5)


def test_what_is_lost_is_what_the_smallest_singular_values_hold() -> None:
    vectors = torch.randn(40, 8)

    table, axes = low_rank(vectors, rank=5)

    lost = (table @ axes.T - vectors).square().sum()
    torch.testing.assert_close(lost, torch.linalg.svdvals(vectors)[5:].square().sum())


def test_the_axes_are_at_right_angles_and_of_length_one() -> None:
    _, axes = low_rank(torch.randn(40, 8), rank=5)

    torch.testing.assert_close(axes.T @ axes, torch.eye(5), rtol=0, atol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_no_axis_depends_on_where_the_words_lie_along_it(sign: int) -> None:
    vectors = torch.randn(40, 8)

    _, axes = low_rank(sign * vectors, rank=5)

    torch.testing.assert_close(axes, low_rank(vectors, rank=5)[1], rtol=0, atol=1e-5)
    assert (axes.gather(0, axes.abs().argmax(dim=0)[None, :]) > 0).all()


def test_padding_stays_zero() -> None:
    vectors = torch.randn(40, 8)
    vectors[0] = 0.0

    table, _ = low_rank(vectors, rank=5)

    assert table[0].tolist() == [0.0] * 5
