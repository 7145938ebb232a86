"""The error among the rows that are answered, and foreign rows, with numbers worked by hand."""

import numpy as np
import pytest

from limbeck.runtime.risk_coverage import RiskCoverage, foreign_measures


def test_the_area_is_the_mean_error_over_all_coverages() -> None:
    """From the surest: right, wrong, right, wrong: errors 0, 1/2, 1/3, 2/4."""
    found = RiskCoverage.of(np.array([0.6, 0.9, 0.7, 0.8]), np.array([False, True, True, False]))

    assert found.risks.tolist() == pytest.approx([0, 1 / 2, 1 / 3, 2 / 4])
    assert found.aurc == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    low, high = found.aurc_interval(samples=500)
    assert low <= found.aurc <= high


def test_rows_of_equal_score_count_as_their_mean_in_any_order() -> None:
    right = np.array([True, True, False, False])

    found = [RiskCoverage.of(np.ones(4), order).aurc for order in (right, right[::-1])]

    assert found == pytest.approx([0.5, 0.5])


def test_points_are_at_whole_groups_of_equal_scores() -> None:
    scores, right = np.array([0.9, 0.5, 0.5, 0.5, 0.1]), np.array([True, True, False, True, False])

    points = RiskCoverage.of(scores, right).points(51)

    assert [point["coverage"] for point in points] == pytest.approx([1 / 5, 4 / 5, 1])
    assert [point["error"] for point in points] == pytest.approx([0, 1 / 4, 2 / 5])
    assert [point["threshold"] for point in points] == [0.9, 0.5, 0.1]


def test_foreign_rows_by_hand() -> None:
    """Of 20 rows in scope one may be lost: all foreign rows below the second lowest of them are found."""
    inside, outside = np.arange(1, 21) / 20, np.array([0.0, 0.06, 0.07, 0.5])

    found = foreign_measures(inside, outside)

    assert found["rows"] == 4
    assert found["recall_at_5"] == pytest.approx(3 / 4)
    assert found["fpr95"] == pytest.approx(10 / 20)  # all four are below a threshold just above 0.5
    assert found["auroc"] == pytest.approx((20 + 19 + 19 + 10 + 0.5) / 80)


def test_scores_that_tell_nothing() -> None:
    found = foreign_measures(np.ones(10), np.ones(3))

    assert (found["auroc"], found["recall_at_5"], found["fpr95"]) == (0.5, 0.0, 1.0)
