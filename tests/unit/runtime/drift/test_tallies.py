"""Counts of a stream: the same in any chunks, and a gap that is never larger than the true one."""

import numpy as np
import pytest
from scipy import stats

from limbeck.runtime.drift.sketch import quantile_sketch
from limbeck.runtime.drift.tallies import LabelTally, QuantileTally, TokenTally


def gap_of(there: np.ndarray, here: np.ndarray, *, chunk: int = 100) -> float:
    tally = QuantileTally.of(quantile_sketch(there))
    for start in range(0, len(here), chunk):
        tally.add(here[start : start + chunk])
    return tally.gap


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0, 9.0, -9.0])
def test_the_gap_is_that_of_kolmogorov_and_smirnov_or_a_little_less(shift: float) -> None:
    dice = np.random.default_rng(0)
    there, here = dice.normal(10, 1, 2_000), dice.normal(10 + shift, 1, 700)

    exact = float(stats.ks_2samp(there, here).statistic)

    assert exact - 0.021 <= gap_of(there, here) <= exact + 1e-9


@pytest.mark.parametrize("here", [[0.0] * 80 + [1.0] * 20, [1.0] * 50, [0.0] * 50, [0.0, 0.5, 1.0] * 20])
def test_numbers_that_many_texts_share_make_no_gap_that_is_not_there(here: list[float]) -> None:
    there = np.array([0.0] * 1_500 + [1.0] * 500)

    exact = float(stats.ks_2samp(there, np.array(here)).statistic)

    assert exact - 0.021 <= gap_of(there, np.array(here)) <= exact + 1e-9


def test_chunks_do_not_matter() -> None:
    dice = np.random.default_rng(1)
    there, here = dice.poisson(5, 500).astype(float), dice.poisson(6, 333).astype(float)

    assert gap_of(there, here, chunk=1) == gap_of(there, here, chunk=333)


def test_means_are_kept_and_counted() -> None:
    tally = QuantileTally.of(quantile_sketch(np.array([1.0, 2.0, 6.0])))
    tally.add(np.array([4.0, 5.0]))
    tally.add(np.array([]))

    assert (tally.there, tally.here, tally.rows) == (3.0, 4.5, 2)


def test_labels_and_tokens_are_counted() -> None:
    labels, tokens = LabelTally(2), TokenTally([7, 8])
    labels.add(np.array([[True, False], [True, True]]))
    tokens.add([frozenset({7, 9}), frozenset()])

    assert (labels.counts.tolist(), labels.rows) == ([2, 1], 2)
    assert (tokens.counts, tokens.rows) == ({7: 1, 8: 0}, 2)
