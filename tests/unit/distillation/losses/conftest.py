"""Gradients by finite differences of a formula in numpy, to hold autograd against."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

Formula = Callable[[npt.NDArray[np.float64]], float]
Slopes = Callable[[Formula, npt.NDArray[np.float64]], npt.NDArray[np.float64]]

STEP = 1e-5


@pytest.fixture
def slopes() -> Slopes:
    """Central differences of a formula at a point, one entry after the other."""

    def differences(formula: Formula, point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        found = np.zeros_like(point)
        for place in np.ndindex(point.shape):
            step = np.zeros_like(point)
            step[place] = STEP
            found[place] = (formula(point + step) - formula(point - step)) / (2 * STEP)
        return found

    return differences
