"""Whether two models differ on the same rows by more than chance, and exact intervals of shares (numpy alone)."""

import math
from typing import Any

import numpy as np

from limbeck.judging.metrics import BOOTSTRAP_SEED, Bools

SAMPLES = 10_000
EXACT_BELOW = 25  # rows on which the two differ; from this number on, the chi-squared approximation is good
HALVINGS, MOST_STEPS, CONVERGED = 60, 10_000, 1e-15


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


def exact_interval(right: int, rows: int, *, error: float) -> tuple[float, float]:
    """The interval of Clopper and Pearson 1934 (doi:10.1093/biomet/26.4.404) for a share: whatever the true one is, it
    lies outside with a probability of at most `error`.

    The lower bound has P(at least so many right) = error / 2, the upper one P(at most so many right) = error / 2.
    """
    low = _beta_quantile(error / 2, right, rows - right + 1) if right else 0.0
    high = _beta_quantile(1 - error / 2, right + 1, rows - right) if right < rows else 1.0
    return low, high


def _beta_quantile(share: float, first: float, second: float) -> float:
    """The x below which a beta distribution has this share, by halving."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if beta_share(middle, first, second) < share else (low, middle)
    return (low + high) / 2


def beta_share(at: float, first: float, second: float) -> float:
    """The share of a beta distribution below `at`: the regularised incomplete beta function, by the continued fraction
    of DLMF 8.17.22, which converges fast on the near side of the mean."""
    if at <= 0 or at >= 1:
        return float(at >= 1)
    if at > (first + 1) / (first + second + 2):
        return 1 - beta_share(1 - at, second, first)
    logs = first * math.log(at) + second * math.log1p(-at)
    scale = math.exp(logs + math.lgamma(first + second) - math.lgamma(first) - math.lgamma(second)) / first
    return scale / _beta_fraction(at, first, second)


def _beta_fraction(at: float, first: float, second: float) -> float:
    """1 + d₁ / (1 + d₂ / (1 + …)), by the method of Lentz."""
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(1, MOST_STEPS):
        half, is_odd = divmod(step, 2)
        if is_odd:
            factor = -(first + half) * (first + second + half) / ((first + 2 * half) * (first + 2 * half + 1))
        else:
            factor = half * (second - half) / ((first + 2 * half - 1) * (first + 2 * half))
        lower = 1 / (1 + factor * at * lower)
        upper = 1 + factor * at / upper
        value *= upper * lower
        if abs(upper * lower - 1) < CONVERGED:
            break
    return value
