"""Correlations, by hand and beside scipy's."""

import numpy as np
import pytest
from scipy import stats

from limbeck.training.correlation import pearson, ranks, spearman


def test_hand_worked_values() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 9.0])

    assert pearson(x, y) == pytest.approx(8 / np.sqrt(2 * 38))
    assert spearman(x, y) == pytest.approx(1.0)
    assert ranks(np.array([5.0, 1.0, 5.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_they_are_those_of_scipy_with_ties_too() -> None:
    dice = np.random.default_rng(0)
    x, y = dice.integers(0, 9, 200).astype(float), dice.normal(size=200)

    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


def test_a_constant_column_has_no_correlation_and_neither_have_no_rows() -> None:
    assert pearson(np.ones(4), np.arange(4.0)) == 0.0
    assert spearman(np.zeros(0), np.zeros(0)) == 0.0
