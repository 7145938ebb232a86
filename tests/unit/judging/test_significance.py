"""McNemar's test against scipy, and against values that statsmodels gave."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from limbeck.judging.significance import chi_squared_p, exact_p, mcnemar

# statsmodels 0.14 (which is no dependency), mcnemar([[100, one], [other, 50]], exact=True) and, with
# exact=False, correction=True: one, other, exact p, corrected p.
FROM_STATSMODELS = [
    (0, 5, 0.0625, 0.07363827012030258),
    (6, 2, 0.2890625, 0.2888443663464818),
    (3, 9, 0.14599609375, 0.14891467317876161),
    (1, 23, 2.9802322387695312e-06, 1.814227956331882e-05),
    (10, 15, 0.42435622215270996, 0.4237107971667936),
    (30, 14, 0.022628841205914796, 0.023738515250054576),
    (40, 90, 1.3715068445175432e-05, 1.7266960453899796e-05),
    (200, 260, 0.0058839224731039984, 0.005943374521940561),
]


def right(*, both: int, only_this: int, only_other: int, none: int) -> tuple[np.ndarray, np.ndarray]:
    """Two models on as many rows of each kind."""
    counts = (both, only_this, only_other, none)
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


@pytest.mark.parametrize(("one", "other", "exact", "corrected"), FROM_STATSMODELS)
def test_both_tests_give_what_statsmodels_gives(one: int, other: int, exact: float, corrected: float) -> None:
    assert exact_p(one, other) == pytest.approx(exact, rel=1e-9)
    assert chi_squared_p(one, other) == pytest.approx(corrected, rel=1e-9)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (7, 7), (2, 19), (11, 13), (300, 341)])
def test_both_tests_give_what_scipy_gives(one: int, other: int) -> None:
    statistic = max(0, abs(one - other) - 1) ** 2 / (one + other)

    assert exact_p(one, other) == pytest.approx(binomtest(one, one + other, 0.5).pvalue)
    assert chi_squared_p(one, other) == pytest.approx(chi2.sf(statistic, 1))


def test_hand_worked() -> None:
    # 2 of 8 throws or fewer: (1 + 8 + 28) of 256, twice
    assert exact_p(2, 6) == pytest.approx(2 * 37 / 256)


def test_models_that_differ_on_no_row_or_evenly_are_not_distinguished() -> None:
    assert exact_p(0, 0) == exact_p(5, 5) == chi_squared_p(40, 40) == 1.0


def test_the_rows_that_count_are_those_on_which_one_alone_is_right() -> None:
    this, other = right(both=50, only_this=6, only_other=2, none=9)

    assert mcnemar(this, other) == {"only_this": 6, "only_other": 2, "p": pytest.approx(0.2890625), "test": "exact"}
    assert mcnemar(other, this)["only_this"] == 2


@pytest.mark.parametrize(("only_this", "test"), [(14, "exact"), (15, "chi_squared")])
def test_from_25_differing_rows_on_the_approximation_is_taken(only_this: int, test: str) -> None:
    found = mcnemar(*right(both=3, only_this=only_this, only_other=10, none=3))

    expected = exact_p(14, 10) if test == "exact" else chi_squared_p(15, 10)
    assert (found["test"], found["p"]) == (test, expected)


def test_many_differing_rows_are_no_trouble() -> None:
    assert 0 < exact_p(900, 1100) < 1e-4
    assert chi_squared_p(0, 100_000) == 0.0
