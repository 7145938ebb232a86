"""The few tests that drift needs, in plain Python: the base install has no scipy."""

import math
from collections.abc import Sequence

LEAST_EXPECTED = 5.0  # of a class in a sample, for the chi-squared distribution to be a good approximation
SMALLEST = 1e-17  # what is smaller does not change a sum of about one
MOST_STEPS = 10_000
NEAR_ZERO = 1e-300


def kolmogorov_p(gap: float, *, rows: int, others: int) -> float:
    """Two-sample Kolmogorov–Smirnov test: how often two samples of one distribution are at least so far apart.

        λ = (√n + 0.12 + 0.11 / √n) · gap,  n = rows · others / (rows + others),  p = 2 · Σ (-1)^(j-1) e^(-2 j² λ²)

    with the correction of Stephens 1970 (doi:10.1111/j.2517-6161.1970.tb00821.x) for small samples. Numbers that occur
    several times make p too large, never too small.
    """
    root = math.sqrt(rows * others / (rows + others))
    width = (root + 0.12 + 0.11 / root) * gap
    if width < 0.2:  # the sum is one to ten digits, and converges slowly
        return 1.0
    terms = (2 * (-1) ** (step - 1) * math.exp(-2 * step**2 * width**2) for step in range(1, 101))
    return min(1.0, max(0.0, math.fsum(terms)))


def chi_squared_tail(statistic: float, *, degrees: int) -> float:
    """P(χ² with so many degrees of freedom is larger): the upper incomplete gamma function, Q(degrees / 2, x / 2)."""
    if statistic <= 0 or degrees < 1:
        return 1.0
    shape, at = degrees / 2, statistic / 2
    scale = math.exp(shape * math.log(at) - at - math.lgamma(shape))
    if at < shape + 1:
        return max(0.0, 1.0 - scale * _series(shape, at))
    return min(1.0, scale * _fraction(shape, at))


def _series(shape: float, at: float) -> float:
    """Σ at^k / (shape · (shape + 1) · … · (shape + k))."""
    term = total = 1 / shape
    for step in range(1, MOST_STEPS):
        term *= at / (shape + step)
        total += term
        if term < total * SMALLEST:
            break
    return total


def _fraction(shape: float, at: float) -> float:
    """1 / (at + 1 - shape - 1 · (1 - shape) / (at + 3 - shape - …)), by the method of Lentz."""
    low = at + 1 - shape
    upper, lower = 1 / NEAR_ZERO, 1 / low
    value = lower
    for step in range(1, MOST_STEPS):
        factor = -step * (step - shape)
        low += 2
        lower = 1 / _not_zero(factor * lower + low)
        upper = _not_zero(low + factor / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > NEAR_ZERO else NEAR_ZERO


def shares_p(counts: Sequence[float], others: Sequence[float]) -> float:
    """Chi-squared test of two samples over the same classes. Rare classes are counted together, so that every class has
    five expected rows in either sample; 1 if only one class is left."""
    rows, other_rows = sum(counts), sum(others)
    least = min(rows, other_rows) / (rows + other_rows)
    pairs = sorted(zip(counts, others, strict=True), key=sum)
    groups: list[tuple[float, float]] = []
    rest = (0.0, 0.0)
    for pair in pairs:
        rest = (rest[0] + pair[0], rest[1] + pair[1])
        if sum(rest) * least >= LEAST_EXPECTED:
            groups.append(rest)
            rest = (0.0, 0.0)
    if len(groups) < 2:
        return 1.0
    groups[-1] = (groups[-1][0] + rest[0], groups[-1][1] + rest[1])
    statistic = sum(
        (pair[side] - sum(pair) * size / (rows + other_rows)) ** 2 / (sum(pair) * size / (rows + other_rows))
        for pair in groups
        for side, size in enumerate((rows, other_rows))
    )
    return chi_squared_tail(statistic, degrees=len(groups) - 1)


def fisher_p(count: int, rows: int, other: int, other_rows: int) -> float:
    """Exact test of two proportions (Fisher): twice the probability of the tail that the split is in, at most one.

    Given how many there are in both samples together, their number in one of them is hypergeometric.
    """
    both, everyone = count + other, rows + other_rows
    start = _log_choose(rows, count) + _log_choose(other_rows, other) - _log_choose(everyone, both)
    is_low = count * everyone <= both * rows
    step = -1 if is_low else 1
    end = max(0, both - other_rows) if is_low else min(rows, both)
    tail = term = 1.0
    for at in range(count, end, step):
        term *= _ratio(at, step, rows=rows, both=both, other_rows=other_rows)
        tail += term
        if term < tail * SMALLEST:
            break
    return min(1.0, 2 * tail * math.exp(start))


def _ratio(at: int, step: int, *, rows: int, both: int, other_rows: int) -> float:
    """The probability of one step further, relative to that of `at`."""
    if step < 0:
        return at * (other_rows - both + at) / ((rows - at + 1) * (both - at + 1))
    return (rows - at) * (both - at) / ((at + 1) * (other_rows - both + at + 1))


def _log_choose(items: int, chosen: int) -> float:
    return math.lgamma(items + 1) - math.lgamma(chosen + 1) - math.lgamma(items - chosen + 1)


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for how many there are (Holm 1979).

    The chance that any of them is at most x by luck alone is at most x, whatever they have to do with each other.
    """
    order = sorted(range(len(values)), key=lambda at: values[at])
    corrected, highest = [1.0] * len(values), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, values[at] * (len(values) - rank)))
        corrected[at] = highest
    return corrected
