"""Whether two models differ on the same rows by more than chance: McNemar's test (numpy alone)."""

import math
from typing import Any

import numpy as np

from limbeck.judging.metrics import BOOTSTRAP_SEED, Bools

SAMPLES = 1_000
EXACT_BELOW = 25  # rows on which the two differ; from this number on, the chi-squared approximation is good


def mcnemar(this: Bools, other: Bools) -> dict[str, Any]:
    """McNemar's test of two models on the same rows; both arrays are (rows), whether a row is right.

    `only_this` and `only_other` count the rows on which only one of the two is right. `p` is the probability of a split
    of those rows at least as uneven if both models were equally good. `test` names the method.
    """
    only_this, only_other = int((this & ~other).sum()), int((other & ~this).sum())
    is_exact = only_this + only_other < EXACT_BELOW
    p = exact_p(only_this, only_other) if is_exact else chi_squared_p(only_this, only_other)
    return {"only_this": only_this, "only_other": only_other, "p": p, "test": "exact" if is_exact else "chi_squared"}


def exact_p(one: int, other: int) -> float:
    """Two-sided binomial test: twice the probability of at most min(one, other) heads in n = one + other coin tosses.

    p = min(1, 2 · Σ_{i ≤ min(one, other)}  C(n, i) / 2ⁿ)
    """
    tosses = one + other
    ways = sum(math.comb(tosses, heads) for heads in range(min(one, other) + 1))
    return min(1.0, 2 * ways / (1 << tosses))


def chi_squared_p(one: int, other: int) -> float:
    """McNemar 1947 (doi:10.1007/BF02295996) with the continuity correction of Edwards 1948 (doi:10.1007/BF02289261).

        χ² = max(0, |one - other| - 1)² / (one + other),   p = P(χ² with 1 degree of freedom is larger)

    The correction never creates a difference: if both counts are equal, p is 1.
    """
    if one == other:
        return 1.0
    statistic = (abs(one - other) - 1) ** 2 / (one + other)
    return math.erfc(math.sqrt(statistic / 2))


def paired_interval(only_this: int, only_other: int, *, rows: int, samples: int = SAMPLES) -> tuple[float, float]:
    """95 % bootstrap interval of the difference of two accuracies on the same rows.

    Rows are alike but for which of the two is right alone, so drawing how many there are of each is the same as drawing
    rows one by one.
    """
    shares = [only_this / rows, only_other / rows, 1 - (only_this + only_other) / rows]
    draws = np.random.default_rng(BOOTSTRAP_SEED).multinomial(rows, shares, size=samples)
    low, high = np.percentile((draws[:, 0] - draws[:, 1]) / rows, [2.5, 97.5])
    return float(low), float(high)
