"""Confident learning on numbers worked by hand."""

import numpy as np
import pytest

from limbeck.review.confident import NOBODY, confident_classes, confident_joint, doubts, thresholds

SURE = [[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 6


def test_a_threshold_is_the_mean_probability_of_a_class_among_its_rows() -> None:
    found = thresholds(np.array([*SURE, [0.3, 0.7]]), np.array([0] * 6 + [1] * 6 + [0]))

    assert found == pytest.approx([(6 * 0.9 + 0.3) / 7, 0.8])


def test_a_class_with_few_rows_has_no_threshold() -> None:
    found = thresholds(np.array([[0.9, 0.1]] * 6 + [[0.1, 0.9]] * 4), np.array([0] * 6 + [1] * 4))

    assert found[1] == np.inf


def test_the_most_probable_class_above_its_threshold_is_the_confident_one() -> None:
    found = confident_classes(np.array([[0.5, 0.45, 0.05], [0.4, 0.3, 0.3]]), np.array([0.6, 0.4, 0.9]))

    assert found.tolist() == [1, NOBODY]


def test_the_joint_counts_labels_against_confident_answers() -> None:
    probabilities = np.array([*SURE, [0.05, 0.95]])
    labels = np.array([0] * 6 + [1] * 6 + [0])

    assert confident_joint(probabilities, labels).tolist() == [[6, 1], [0, 6]]


def test_a_flipped_label_is_flagged_first_with_its_margin() -> None:
    found = doubts(np.array([*SURE, [0.05, 0.95]]), np.array([0] * 6 + [1] * 6 + [0]))

    assert found.order[0] == 12
    assert np.flatnonzero(found.is_flagged).tolist() == [12]
    assert found.margin[12] == pytest.approx(0.9)
    assert found.suggested[12] == 1


def test_a_label_that_is_nearly_impossible_is_flagged_without_a_confident_answer() -> None:
    chances = [[0.9, 0.05, 0.05]] * 6 + [[0.05, 0.9, 0.05]] * 6 + [[0.05, 0.05, 0.9]] * 6 + [[0.01, 0.55, 0.44]]
    found = doubts(np.array(chances), np.array([0] * 6 + [1] * 6 + [2] * 6 + [0]))

    assert np.flatnonzero(found.is_flagged).tolist() == [18]
    assert found.suggested[18] == 1


def test_rows_of_a_class_that_is_too_rare_are_not_flagged() -> None:
    probabilities = np.array([*SURE, [0.99, 0.01]])
    three = np.concatenate([probabilities, np.zeros((13, 1))], axis=1)

    assert not doubts(three, np.array([0] * 6 + [1] * 6 + [2])).is_flagged.any()


def test_of_several_labels_only_the_doubted_one_is_changed() -> None:
    labels = np.array([[1, 0]] * 6 + [[0, 1]] * 6 + [[0, 1]])
    probabilities = np.array([[0.9, 0.1]] * 6 + [[0.1, 0.9]] * 6 + [[0.97, 0.95]])

    found = doubts(probabilities, labels)

    assert np.flatnonzero(found.is_flagged).tolist() == [12]
    assert found.suggested[12].tolist() == [1, 1]
    assert found.own[12] == pytest.approx(0.03)


def test_no_rows_have_no_doubts() -> None:
    assert len(doubts(np.zeros((0, 2)), np.zeros(0, dtype=np.int64)).order) == 0
