"""Measures of scores, and their intervals."""

import numpy as np
import pytest

from limbeck.judging.score_metrics import at_threshold, gains, intervals, measures, residuals_by_score, scatter_points

TRUE = np.array([1.0, 2.0, 3.0, 4.0])


def test_hand_worked_measures() -> None:
    found = measures(TRUE, np.array([2.0, 2.0, 3.0, 6.0]))

    assert found["mae"] == pytest.approx(3 / 4)
    assert found["rmse"] == pytest.approx(np.sqrt(5 / 4))
    assert found["spearman"] == pytest.approx(np.corrcoef([1.5, 1.5, 3, 4], [1, 2, 3, 4])[0, 1])


def test_an_interval_is_that_of_a_plain_bootstrap() -> None:
    dice = np.random.default_rng(1)
    true = dice.normal(size=150)
    given = true + dice.normal(size=150)

    found = intervals(true, given[np.newaxis], samples=2_000)

    drawn = [dice.integers(0, 150, 150) for _ in range(2_000)]
    plain = np.percentile([measures(true[rows], given[rows])["pearson"] for rows in drawn], [2.5, 97.5])
    assert found["pearson"] == pytest.approx(plain.tolist(), abs=0.015)
    assert found["spearman"][0] < measures(true, given)["spearman"] < found["spearman"][1]
    assert found["rmse"][0] < measures(true, given)["rmse"] < found["rmse"][1]


def test_gains_are_paired_and_positive_where_the_first_is_better() -> None:
    dice = np.random.default_rng(2)
    true = dice.normal(size=200)
    good, bad = (true + size * dice.normal(size=200) for size in (0.1, 2.0))

    found = gains(true, good[np.newaxis], bad[np.newaxis], samples=500)
    same = gains(true, good[np.newaxis], good[np.newaxis], samples=500)

    assert found["spearman"] > 0
    assert found["rmse"] > 0
    assert found["spearman_ci95"][0] > 0
    assert same["spearman_ci95"] == [0.0, 0.0]


def test_a_threshold_makes_two_classes() -> None:
    found = at_threshold(TRUE, np.array([0.5, 3.5, 2.5, 4.5]), 3.0)

    assert found["rows_above"] == 2
    assert found["auc"] == pytest.approx(3 / 4)  # of four pairs, one is in the wrong order
    assert found["precision"] == found["recall"] == found["f1"] == found["accuracy"] == 0.5
    assert at_threshold(TRUE, TRUE, 99.0)["auc"] is None


def test_residuals_go_by_the_true_score_and_the_scatter_is_thinned() -> None:
    true = np.arange(1_000.0)

    groups = residuals_by_score(true, true + 2)
    points = scatter_points(true, true)

    assert sum(group["rows"] for group in groups) == 1_000
    assert [group["from"] for group in groups] == sorted(group["from"] for group in groups)
    assert all(group["mean_residual"] == pytest.approx(2.0) for group in groups)
    assert len(points) == 400
    assert points[0] == [0.0, 0.0]
