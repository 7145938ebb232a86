"""The tests in plain Python agree with scipy's."""

import numpy as np
import pytest
from scipy import stats

from limbeck.runtime.drift.p_values import chi_squared_tail, fisher_p, holm, kolmogorov_p, shares_p


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 150])
@pytest.mark.parametrize("statistic", [0.001, 0.5, 3.0, 9.5, 40.0, 200.0, 400.0])
def test_the_tail_of_chi_squared_is_scipys(statistic: float, degrees: int) -> None:
    assert chi_squared_tail(statistic, degrees=degrees) == pytest.approx(
        stats.chi2.sf(statistic, degrees), rel=1e-9, abs=1e-12
    )


def test_no_difference_at_all_has_a_p_of_one() -> None:
    assert chi_squared_tail(0.0, degrees=3) == 1
    assert kolmogorov_p(0.0, rows=10, others=10) == 1
    assert shares_p([50, 50], [500, 500]) == pytest.approx(1)
    assert fisher_p(5, 100, 5, 100) == 1


@pytest.mark.parametrize("gap", [0.03, 0.05, 0.08, 0.1])
def test_kolmogorov_is_near_the_exact_test_for_large_samples(gap: float) -> None:
    rows, others = 2_000, 1_000
    here = np.concatenate([np.full(round(gap * rows), -1.0), np.linspace(0, 1, rows - round(gap * rows))])
    there = np.linspace(0, 1, others)
    found = stats.ks_2samp(here, there)

    assert kolmogorov_p(float(found.statistic), rows=rows, others=others) == pytest.approx(found.pvalue, rel=0.15)


def test_kolmogorov_of_a_wide_gap_is_small_and_no_error() -> None:
    assert kolmogorov_p(1.0, rows=10_000_000, others=2_000) == 0
    assert 0 < kolmogorov_p(1.0, rows=1, others=2_000) < 1


@pytest.mark.parametrize(("counts", "others"), [([30, 70], [400, 600]), ([10, 20, 70], [300, 300, 1_400])])
def test_shares_are_scipys_chi_squared_where_no_class_is_rare(counts: list[int], others: list[int]) -> None:
    expected = stats.chi2_contingency([counts, others], correction=False).pvalue

    assert shares_p(counts, others) == pytest.approx(expected, rel=1e-9)


def test_rare_classes_are_counted_together() -> None:
    together = stats.chi2_contingency([[8, 92], [80, 920]], correction=False).pvalue

    assert shares_p([2, 2, 2, 2, 92], [20, 20, 20, 20, 920]) == pytest.approx(together)
    assert shares_p([3, 0], [2_000, 0]) == 1


@pytest.mark.parametrize(
    ("count", "rows", "other", "other_rows"),
    [(3, 20, 40, 1_000), (0, 20, 400, 1_000), (20, 20, 400, 1_000), (90, 500, 90, 1_000), (9, 10, 0, 10)],
)
def test_fisher_is_twice_the_smaller_tail_of_scipys(count: int, rows: int, other: int, other_rows: int) -> None:
    table = [[count, rows - count], [other, other_rows - other]]
    tails = [stats.fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]

    assert fisher_p(count, rows, other, other_rows) == pytest.approx(min(1, 2 * min(tails)), rel=1e-8)


def test_fisher_of_a_million_rows_is_no_error() -> None:
    assert fisher_p(300_000, 1_000_000, 300, 1_000) == pytest.approx(1, abs=0.1)
    assert fisher_p(900_000, 1_000_000, 300, 1_000) < 1e-100


def test_holm_hand_worked() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
