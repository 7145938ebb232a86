"""Correlations of two columns of numbers (numpy alone)."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def pearson(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Pearson's correlation: Σ (x - x̄)(y - ȳ) / √( Σ (x - x̄)² · Σ (y - ȳ)² ); 0 where one of the two is constant."""
    x, y = (np.asarray(values, dtype=np.float64) for values in (one, other))
    if not len(x):
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float(np.clip((x * y).sum() / spread, -1, 1)) if spread > 0 else 0.0


def spearman(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, with the mean rank for ties."""
    return pearson(ranks(one), ranks(other))


def ranks(values: npt.NDArray[Any]) -> Floats:
    """From 1; equal values share the mean of their ranks."""
    found = np.asarray(values)
    _, places, counts = np.unique(found, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=np.float64)
