"""The temperature that makes probabilities fit labels best (Guo et al. 2017); numpy and scipy, without torch."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax

MIN_ROWS = 30  # with fewer, a temperature would fit noise
PRIOR_ROWS = 10  # that say T = 1: they count in a few dozen rows, and not in thousands
LOWEST, HIGHEST = 0.05, 20.0
AT_THE_EDGE = 0.01  # in logarithms: a search that ends this close to a bound has found no minimum
DIGITS = 4


def fitted_temperature(logits: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> float:
    """The temperature T that maximises the likelihood of the labels (Guo et al. 2017, arXiv:1706.04599, section 4.2),
    pulled towards 1 where there are few of them.

        T = argmin  ( Σ over rows of  - log softmax(z / T)_label
                      + k · mean over rows of  - Σ_c softmax(z)_c log softmax(z / T)_c ) / (rows + k),   k = 10
        with several labels per row:   - Σ_c  y_c log σ(z_c / T) + (1 - y_c) log σ(-z_c / T),   the second: y_c = σ(z_c)

    The second sum is as if k more rows like these had labels drawn from the model's own probabilities, for which T = 1
    is best: the conjugate prior of an exponential family (Diaconis and Ylvisaker 1979, doi:10.1214/aos/1176344611). Few
    rows would fit their own noise: see docs/export.md.

    Both sums are convex in 1 / T, so there is one minimum and a search along log T finds it. Returns 1 if T cannot be
    fitted: fewer than 30 rows, the same prediction for every row, or a likelihood with its maximum at a bound. If all
    predictions are right, that is at T = 0, where every probability is 1; for a useless model it is at T = ∞.
    """
    multi_label = labels.ndim == 2
    if len(labels) < MIN_ROWS or (not multi_label and len(np.unique(logits.argmax(axis=1))) == 1):
        return 1.0
    if _lowest(logits, labels, pull=0.0) is None:
        return 1.0
    found = _lowest(logits, labels, pull=_pull_to_one(logits, labels))
    return 1.0 if found is None else round(found, DIGITS)


def _lowest(logits: npt.NDArray[Any], labels: npt.NDArray[np.int64], *, pull: float) -> float | None:
    """The temperature with the lowest loss; None if that is at a bound."""

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        return negative_log_likelihood(logits, labels, temperature=temperature) + pull / temperature

    low, high = math.log(LOWEST), math.log(HIGHEST)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-5})
    return math.exp(found.x) if low + AT_THE_EDGE < found.x < high - AT_THE_EDGE else None


def _pull_to_one(logits: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> float:
    """What the prior adds to the mean loss, times T.

        k / (rows + k) · mean over rows of  Σ_c (y_c - p_c) z_c,   p the probabilities at T = 1

    Losses of one row differ only by the logits of what is right, divided by T: log Σ_c exp(z_c / T) - Σ_c y_c z_c / T.
    """
    z = logits.astype(np.float64)
    if labels.ndim == 2:
        gaps = ((labels - expit(z)) * z).sum(axis=1)
    else:
        gaps = np.take_along_axis(z, labels[:, np.newaxis], axis=1)[:, 0] - (softmax(z, axis=1) * z).sum(axis=1)
    return PRIOR_ROWS / (len(labels) + PRIOR_ROWS) * float(gaps.mean())


def negative_log_likelihood(logits: npt.NDArray[Any], labels: npt.NDArray[np.int64], *, temperature: float) -> float:
    """Of the labels, mean over rows, in nats; with several labels per row, summed over every class's yes or no."""
    z = logits.astype(np.float64) / temperature
    if labels.ndim == 2:
        return float(np.logaddexp(0.0, np.where(labels == 1, -z, z)).sum() / len(labels))
    of_label = np.take_along_axis(z, labels[:, np.newaxis], axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(z, axis=1) - of_label))
