"""Counts of a stream, chunk by chunk: as much as its comparison with dev needs, whatever the number of rows."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.dev_sketch import QuantileSketch
from limbeck.runtime.drift.sketch import Bools, Floats

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")  # of a point: numbers up to it, numbers below it
DIGITS = 4  # of numbers that are compared, as of those that are kept; two engines may differ behind them


class QuantileTally:
    """How many numbers of a stream are below, and up to, each of the kept quantiles of dev."""

    def __init__(self, quantiles: Sequence[float], *, mean: float, slack: float = 0.0) -> None:
        """`slack` is how far the level of a quantile may be from its place in the list."""
        kept = np.round(np.array(quantiles, dtype=np.float64), DIGITS)
        self._points, firsts, counts = np.unique(kept, return_index=True, return_counts=True)
        self._bounds = _bounds(firsts, firsts + counts - 1, steps=len(kept) - 1, slack=slack)
        self._counts = np.zeros((2, len(self._points) + 1), dtype=np.int64)
        self.there, self._sum, self.rows = mean, 0.0, 0

    @classmethod
    def of(cls, kept: QuantileSketch) -> "QuantileTally":
        """Of what a profile keeps."""
        return cls(kept.quantiles, mean=kept.mean)

    def add(self, values: Floats) -> None:
        """Count more numbers."""
        rounded = np.round(values, DIGITS)
        up_to, below = (np.searchsorted(self._points, rounded, side=side) for side in SIDES)
        for counts, places in zip(self._counts, (up_to, below), strict=True):
            counts += np.bincount(places, minlength=len(counts))
        self._sum += float(values.sum())
        self.rows += len(values)

    @property
    def here(self) -> float:
        """The mean."""
        return self._sum / max(self.rows, 1)

    @property
    def gap(self) -> float:
        """The least that the largest difference between both distribution functions can be (Kolmogorov–Smirnov).

        Between two kept quantiles, a percent apart, dev is not known; whatever fits to both is no difference.
        """
        shares = np.cumsum(self._counts, axis=1)[:, :-1] / max(self.rows, 1)  # up to each point, and below it
        low, high = self._bounds
        return float(max(0.0, (shares - high).max(), (low - shares).max()))


def _bounds(
    firsts: npt.NDArray[np.intp], lasts: npt.NDArray[np.intp], *, steps: int, slack: float
) -> tuple[Floats, Floats]:
    """(2, points) twice: the least and the largest share of dev up to each point, and below it.

    A point is the quantile of the levels first / steps to last / steps.
    """
    low = np.stack([lasts / steps, (firsts - 1) / steps]) - slack
    high = np.stack([(lasts + 1) / steps, firsts / steps]) + slack
    low[0, lasts == steps] = 1.0  # nothing of dev is larger
    high[1, firsts == 0] = 0.0  # nothing of it is smaller
    return low, np.minimum(high, 1.0)


class LabelTally:
    """How often a stream was given each label."""

    def __init__(self, classes: int) -> None:
        self.counts = np.zeros(classes, dtype=np.int64)
        self.rows = 0

    def add(self, given: Bools) -> None:
        """`given` is (rows, classes)."""
        self.counts += given.sum(axis=0)
        self.rows += len(given)


class TokenTally:
    """How many texts of a stream have each of the kept tokens."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.counts = dict.fromkeys(tokens, 0)
        self.rows = 0

    def add(self, texts: Sequence[frozenset[int]]) -> None:
        """Count more texts, each as its tokens."""
        for tokens in texts:
            for token in self.counts.keys() & tokens:
                self.counts[token] += 1
        self.rows += len(texts)
