"""Where word vectors start."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.distillation.vectors import SPREAD_OF_UNKNOWN, file_vectors, teacher_vectors
from limbeck.progress import Bar, SilentReporter
from limbeck.text.word_vectors import principal_components

# 400 rows in 12 dimensions, of clearly different spread along turned axes, far away from zero.
TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
SPREAD = 1.5 ** -np.arange(12)
STATES = (np.random.default_rng(2).normal(size=(400, 12)) * SPREAD @ TURN + 30).astype(np.float32)


class LetterReader:
    """A teacher whose states are counts of letters; records whether it got words or pieces."""

    def __init__(self) -> None:
        self.were_pieces: list[bool] = []

    def word_states(self, words: Sequence[str], *, are_pieces: bool, bar: Bar) -> npt.NDArray[np.float32]:
        del bar
        self.were_pieces.append(are_pieces)
        return np.array([[word.count(letter) for letter in "aeiou"] for word in words], dtype=np.float32)


def test_components_are_those_of_a_singular_value_decomposition() -> None:
    found = principal_components(STATES, width=5)

    centred = STATES.astype(np.float64) - STATES.astype(np.float64).mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    expected = left[:, :5] * values[:5]
    expected /= expected.std()
    expected *= np.sign((expected * found).sum(axis=0))  # a decomposition leaves the signs open
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_values_are_centred_have_variance_one_and_fall_in_spread() -> None:
    found = principal_components(STATES, width=5)

    assert found.dtype == np.float32
    assert found.std() == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-4)
    assert (np.diff(found.std(axis=0)) < 0).all()


def test_signs_do_not_hang_on_the_order_of_the_rows() -> None:
    """An eigenvector and its opposite are equally right; which one a library returns must not matter."""
    order = np.random.default_rng(3).permutation(len(STATES))

    straight = principal_components(STATES, width=5)
    shuffled = principal_components(STATES[order], width=5)

    np.testing.assert_allclose(shuffled, straight[order], atol=2e-3)


def test_the_largest_weight_of_every_axis_is_positive() -> None:
    found = principal_components(STATES, width=5)

    axes = np.linalg.lstsq(found.astype(np.float64), STATES - STATES.mean(axis=0), rcond=None)[0]  # (axes, states)
    assert (axes[np.arange(5), np.abs(axes).argmax(axis=1)] > 0).all()


def test_states_that_are_all_alike_give_zeros_and_no_division_by_zero() -> None:
    found = principal_components(np.ones((6, 4), dtype=np.float32), width=2)

    assert found.tolist() == [[0.0, 0.0]] * 6


@pytest.mark.parametrize("are_pieces", [True, False])
def test_a_teacher_reads_the_words_and_padding_is_zero(are_pieces: bool) -> None:
    teacher = LetterReader()
    words = ["[PAD]", "[UNK]", "[MASK]", "banana", "queue", "oasis"]

    found = teacher_vectors(words, are_pieces=are_pieces, teacher=teacher, width=3, reporter=SilentReporter())

    assert teacher.were_pieces == [are_pieces]
    assert found.shape == (6, 3)
    assert found[0].tolist() == [0.0, 0.0, 0.0]
    assert len({tuple(row) for row in np.round(found[3:], 4).tolist()}) == 3


def test_words_of_a_file_keep_their_vectors_and_others_start_small(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("film 1 2 3\n[PAD] 9 9 9\nstory 4 5 6\n", encoding="utf-8")
    words = ["[PAD]", "[UNK]", "story", "film", *(f"unknown{number}" for number in range(500))]

    vectors, found = file_vectors(words, path=path)

    assert found == 3
    assert vectors[0].tolist() == [0.0, 0.0, 0.0]
    assert vectors[2:4].tolist() == [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]
    assert vectors[4:].std() == pytest.approx(SPREAD_OF_UNKNOWN, rel=0.1)
    assert np.array_equal(vectors, file_vectors(words, path=path)[0])
