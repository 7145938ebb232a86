"""The losses of general students, by hand."""

import math

import pytest
import torch

from limbeck.general.losses import neighbour_kl, soft_words, vector_cosine

PLANE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])


def test_the_cosine_of_two_rows_by_hand() -> None:
    student = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    encoder = torch.tensor([[1.0, 0.0], [0.0, 5.0]])

    assert vector_cosine(student, encoder).item() == pytest.approx(1 - (0.6 + 1.0) / 2)
    assert vector_cosine(encoder, 7 * encoder).item() == pytest.approx(0.0, abs=1e-6)


def test_neighbours_by_hand() -> None:
    """Encoder: row 0 has cosines 0 and -1 to the others; student: all rows point the same way, so q is uniform."""
    student, temperature = torch.ones(3, 2), 0.5
    cosines = [(0.0, -1.0), (0.0, 0.0), (-1.0, 0.0)]

    expected = 0.0
    for row in cosines:
        weights = [math.exp(cosine / temperature) for cosine in row]
        expected += sum(w / sum(weights) * math.log(w / sum(weights) / 0.5) for w in weights) / 3

    assert neighbour_kl(student, PLANE, temperature=temperature).item() == pytest.approx(expected, rel=1e-5)


def test_neighbours_agree_if_similarities_do_whatever_the_widths() -> None:
    turned = PLANE @ torch.tensor([[0.0, 2.0, 0.0], [-2.0, 0.0, 0.0]])

    assert neighbour_kl(turned, PLANE, temperature=0.05).item() == pytest.approx(0.0, abs=1e-5)


def test_a_sentence_is_no_neighbour_of_itself_and_one_alone_has_none() -> None:
    alone = torch.ones(1, 2, requires_grad=True)

    loss = neighbour_kl(alone, torch.ones(1, 2), temperature=0.05)
    loss.backward()  # type: ignore[no-untyped-call]

    assert loss.item() == 0.0
    assert alone.grad is not None
    assert not neighbour_kl(PLANE, PLANE[[1, 0, 2]], temperature=0.05).isnan()


def test_soft_words_by_hand() -> None:
    """One masked token, two words, T = 2: the teacher says 3 : 1 after softening, the student 1 : 1."""
    teacher, student = torch.tensor([[2 * math.log(3.0), 0.0]]), torch.zeros(1, 2)

    expected = 4 * (0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5))

    assert soft_words(student, teacher, temperature=2.0).item() == pytest.approx(expected, rel=1e-6)
    assert soft_words(torch.cat([student, teacher]), torch.cat([teacher, teacher]), temperature=2.0).item() == (
        pytest.approx(expected / 2, rel=1e-6)
    )
    assert soft_words(teacher + 5.0, teacher, temperature=2.0).item() == pytest.approx(0.0, abs=1e-6)
