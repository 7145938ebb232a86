"""The temperature that makes the probabilities of an exported file as honest as they were on dev."""

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from limbeck.artifacts.rows import Rows
from limbeck.export.dev_rows import Positions, asked_of, spread
from limbeck.runtime.row import Row
from limbeck.training.skill import Labels, predicted

LEAST_ROWS = 30  # with fewer, a temperature would follow the noise
MOST_ROWS = 2_000  # one number needs no more
LOWEST, HIGHEST = 0.05, 20.0
AT_THE_EDGE = 0.01  # in logarithms: a search that ends so near a bound has found no best temperature
DIGITS = 4


class Saying(Protocol):
    """An exported file, as far as it is asked here."""

    def logits(self, rows: list[Row], /) -> npt.NDArray[np.float32]:
        """(rows, classes)."""


def calibration_rows(rows: Rows) -> Positions:
    """Positions of the rows that a temperature is fitted on: those that have a label, at most 2,000, evenly spread."""
    return spread(np.flatnonzero(rows.is_labelled), MOST_ROWS)


def temperature_of(exported: Saying, rows: Rows) -> float:
    """Fitted on the rows for calibration, by what the exported file says of them."""
    chosen = rows.select(calibration_rows(rows))
    if len(chosen) < LEAST_ROWS:
        return 1.0
    return fitted_temperature(exported.logits(asked_of(chosen)), chosen.labels)


def fitted_temperature(logits: npt.NDArray[Any], labels: Labels) -> float:
    """The temperature T at which the labels are likeliest (Guo et al. 2017, arXiv:1706.04599, section 4.2).

        T = argmin  mean over rows of  - log softmax(z / T)_label
        with several labels a row:     - Σ_c  y_c log σ(z_c / T) + (1 - y_c) log σ(-z_c / T)

    The likelihood is convex in 1 / T, so that there is one minimum and a search along log T finds it. 1 where there is
    no telling: fewer than 30 rows, the same class for every row, or a minimum at a bound. Labels that are all right
    are likeliest at T = 0, where every probability is 1; those of a model that knows nothing at T = ∞.
    """
    multi_label = labels.ndim == 2
    if len(labels) < LEAST_ROWS or (not multi_label and len(np.unique(predicted(logits, multi_label=False))) == 1):
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


def negative_log_likelihood(logits: npt.NDArray[Any], labels: Labels, *, temperature: float) -> float:
    """Of the labels, mean over rows, in nats; with several labels a row, that of every class's yes or no, summed."""
    z = logits.astype(np.float64) / temperature
    if labels.ndim == 2:
        return float(np.logaddexp(0.0, np.where(labels == 1, -z, z)).sum() / len(labels))
    of_label = np.take_along_axis(z, labels[:, np.newaxis], axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(z, axis=1) - of_label))
