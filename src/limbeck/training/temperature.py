"""The temperature that makes probabilities fit labels best (Guo et al. 2017); numpy and scipy, without torch."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

MIN_ROWS = 30  # with fewer, a temperature would fit noise
LOWEST, HIGHEST = 0.05, 20.0
AT_THE_EDGE = 0.01  # in logarithms: a search that ends this close to a bound has found no minimum
DIGITS = 4


def fitted_temperature(logits: npt.NDArray[Any], labels: npt.NDArray[np.int64]) -> float:
    """The temperature T that maximises the likelihood of the labels (Guo et al. 2017, arXiv:1706.04599, section 4.2).

        T = argmin  mean over rows of  - log softmax(z / T)_label
        with several labels per row:   - Σ_c  y_c log σ(z_c / T) + (1 - y_c) log σ(-z_c / T)

    The negative log-likelihood is convex in 1 / T, so there is one minimum and a search along log T finds it. Returns 1
    if T cannot be fitted: fewer than 30 rows, the same prediction for every row, or a minimum at a bound. If all
    predictions are right, the minimum is at T = 0, where every probability is 1; for a useless model it is at T = ∞.
    """
    multi_label = labels.ndim == 2
    if len(labels) < MIN_ROWS or (not multi_label and len(np.unique(logits.argmax(axis=1))) == 1):
        return 1.0
    low, high = math.log(LOWEST), math.log(HIGHEST)
    found = minimize_scalar(
        lambda log_temperature: negative_log_likelihood(logits, labels, temperature=math.exp(log_temperature)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-5},
    )
    is_inside = low + AT_THE_EDGE < found.x < high - AT_THE_EDGE
    return round(math.exp(found.x), DIGITS) if is_inside else 1.0


def negative_log_likelihood(logits: npt.NDArray[Any], labels: npt.NDArray[np.int64], *, temperature: float) -> float:
    """Of the labels, mean over rows, in nats; with several labels per row, summed over every class's yes or no."""
    z = logits.astype(np.float64) / temperature
    if labels.ndim == 2:
        return float(np.logaddexp(0.0, np.where(labels == 1, -z, z)).sum() / len(labels))
    of_label = np.take_along_axis(z, labels[:, np.newaxis], axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(z, axis=1) - of_label))
