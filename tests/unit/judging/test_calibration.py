"""Confidence, its bins and their error, and the distance to the teacher, against values worked out by hand."""

import math

import numpy as np
import pytest
from scipy.special import rel_entr, softmax

from limbeck.judging.calibration import (
    expected_calibration_error,
    kl,
    log_probabilities,
    reliability,
)

# Confidences 0.55, 0.58, 0.95 and, for the other class, 0.95: right, wrong, right, right.
PROBABILITIES = np.array([[0.55, 0.45], [0.58, 0.42], [0.95, 0.05], [0.05, 0.95]])
LABELS = np.array([0, 1, 0, 1])
SET_PROBABILITIES = np.array([[0.92, 0.08], [0.98, 0.55]])
SETS = np.array([[1, 0], [0, 1]])


def test_calibration_error_hand_worked() -> None:
    # bin (0.5, 0.6]: accuracy 1/2, confidence 0.565; bin (0.9, 1.0]: accuracy 1, confidence 0.95
    expected = 2 / 4 * abs(0.5 - 0.565) + 2 / 4 * abs(1 - 0.95)

    assert expected_calibration_error(LABELS, PROBABILITIES, bins=10) == pytest.approx(expected)


def test_over_and_under_confidence_in_one_bin_cancel_but_not_across_bins() -> None:
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4]])
    labels = np.array([1, 0])  # wrong at 0.9, right at 0.6

    assert expected_calibration_error(labels, probabilities) == pytest.approx((0.9 + 0.4) / 2)


def test_certain_and_right_is_perfectly_calibrated() -> None:
    assert expected_calibration_error(np.array([0, 1]), np.eye(2)) == 0.0


def test_calibration_of_several_labels_goes_over_all_pairs_of_row_and_class() -> None:
    # bin (0.9, 1.0]: 1 of 2 there, 0.95 on average; (0.0, 0.1]: 0 of 1, 0.08; (0.5, 0.6]: 1 of 1, 0.55
    expected = 2 / 4 * abs(1 / 2 - 0.95) + 1 / 4 * 0.08 + 1 / 4 * 0.45

    assert expected_calibration_error(SETS, SET_PROBABILITIES, bins=10) == pytest.approx(expected)


def test_reliability_tells_the_bins_that_have_rows() -> None:
    found = reliability(LABELS, PROBABILITIES, bins=10)

    assert found == [
        {"confidence": pytest.approx(0.565), "accuracy": 0.5, "rows": 2},
        {"confidence": pytest.approx(0.95), "accuracy": 1.0, "rows": 2},
    ]


def test_the_error_is_the_mean_gap_of_the_bins() -> None:
    dice = np.random.default_rng(0)
    probabilities, labels = dice.dirichlet([1, 1, 1], 200), dice.integers(0, 3, 200)

    bins = reliability(labels, probabilities)

    gaps = sum(bin["rows"] * abs(bin["accuracy"] - bin["confidence"]) for bin in bins) / 200
    assert expected_calibration_error(labels, probabilities) == pytest.approx(gaps)
    assert sum(bin["rows"] for bin in bins) == 200


def test_reliability_of_several_labels_counts_pairs_of_row_and_class() -> None:
    assert sum(bin["rows"] for bin in reliability(SETS, SET_PROBABILITIES)) == 4


def test_divergence_hand_worked() -> None:
    teacher = np.array([[math.log(3), 0.0]])  # p = (3/4, 1/4)
    model = np.array([[0.0, 0.0]])  # q = (1/2, 1/2)

    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert kl(teacher, model, multi_label=False) == pytest.approx(expected)
    # Each class by itself: p = 3/4 and 1/2, q = 1/2 and 1/2.
    assert kl(teacher, model, multi_label=True) == pytest.approx(expected)


def test_the_divergence_is_from_the_teacher_to_the_model_and_a_mean_over_rows() -> None:
    dice = np.random.default_rng(4)
    teacher, model = dice.normal(0, 3, (2, 40, 5)).astype(np.float32)

    expected = rel_entr(softmax(teacher, axis=1), softmax(model, axis=1)).sum(axis=1).mean()

    assert kl(teacher, model, multi_label=False) == pytest.approx(expected, rel=1e-5)
    assert kl(model, teacher, multi_label=False) != pytest.approx(expected, rel=1e-3)
    assert kl(teacher, teacher + 7, multi_label=False) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_teacher_and_a_model_of_no_doubt_at_all_are_a_finite_distance_apart(multi_label: bool) -> None:
    sure = np.array([[1000.0, -1000.0]], dtype=np.float32)

    assert kl(sure, -sure, multi_label=multi_label) == pytest.approx(2000.0)
    assert kl(sure, sure, multi_label=multi_label) == 0.0


def test_logarithms_of_probabilities_are_never_infinite() -> None:
    assert log_probabilities(np.array([[2000.0, 0.0]], dtype=np.float32)).tolist() == [[0.0, -2000.0]]
