from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
LogitsOf = Callable[..., npt.NDArray[np.float32]]

WORDS, WIDTH = 50, 30
LENGTHS = [1, 5, 9, 2, 70, 3, 1, 12]


class Student:
    """A student with random weights: the arguments of the extension, and the same in numpy."""

    def __init__(
        self, draw: Any, *, windows: list[int], filters: int, pair: bool = False, int8: bool = False, dense: int = 0
    ) -> None:
        self.windows, self.filters = windows, filters
        self.embeddings = draw.floats(WORDS + 1, WIDTH, spread=0.5)
        self.weights = draw.floats(WIDTH, sum(windows) * filters)
        self.bias = draw.floats(len(windows) * filters)
        self.arguments: dict[str, Any] = {"windows": windows, "bias": self.bias, "pair": pair}
        if int8:
            words, weights = (
                draw.integers(self.embeddings, limit=127),
                draw.integers(self.weights.T, limit=63),
            )
            self.embeddings, self.weights = words.values, weights.values.T
            self.arguments |= {"embeddings": words.integers, "embedding_scales": words.scales}
            self.arguments |= {"filters": weights.integers.T.copy(), "filter_scales": weights.scales.squeeze(-1)}
        else:
            self.arguments |= {"embeddings": self.embeddings, "filters": self.weights}
        self.head = draw.head(len(windows) * filters, pair=pair, dense=dense)
        self.arguments |= {"dense": self.head.dense, "classifier": self.head.classifier}

    def logits(self, columns: list[list[list[int]]]) -> Array:
        rows = zip(*columns, strict=True)
        return np.array([self.head.logits([self._features(ids) for ids in texts]) for texts in rows])

    def _features(self, ids: list[int]) -> Array:
        """Each filter's largest value over the windows that hold a word, zeros around the text, and none below 0."""
        vectors, features, first = self.embeddings[ids].astype(float), [], 0
        for window in self.windows:
            places = self.weights[:, first : first + window * self.filters].astype(float)
            by_place = places.reshape(WIDTH, window, self.filters)
            padded = np.pad(vectors, [(window - 1, window - 1), (0, 0)])
            values = [
                np.einsum("pw,wpf->f", padded[start : start + window], by_place)
                for start in range(len(ids) + window - 1)
            ]
            features.append(np.max(values, axis=0))
            first += window * self.filters
        active: Array = np.maximum(np.concatenate(features) + self.bias, 0.0)
        return active


@pytest.mark.parametrize("int8", [False, True], ids=["floats", "integers"])
@pytest.mark.parametrize("dense", [0, 20])
@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
@pytest.mark.parametrize(("windows", "filters"), [([3, 4, 5], 20), ([1], 1), ([2, 7], 16), ([3, 3], 33)])
def test_it_says_what_numpy_says(
    extension: Any,
    level: str,
    draw: Any,
    logits_of: LogitsOf,
    windows: list[int],
    filters: int,
    pair: bool,
    dense: int,
    int8: bool,
) -> None:
    student = Student(draw, windows=windows, filters=filters, pair=pair, dense=dense, int8=int8)
    columns = draw.rows(WORDS, LENGTHS, columns=2 if pair else 1)

    logits = logits_of(extension.Convolution(**student.arguments, level=level), columns)

    np.testing.assert_allclose(
        logits, student.logits(columns), rtol=2e-3 if int8 else 1e-5, atol=1e-2 if int8 else 1e-5
    )


def test_wide_integers_do_not_overflow(extension: Any, level: str, draw: Any, logits_of: LogitsOf) -> None:
    """Without VNNI, products of bytes are added in 16 bits, which two of the largest do not fit into."""
    student = Student(draw, windows=[3], filters=20, int8=True)
    student.arguments["embeddings"][:] = np.where(student.arguments["embeddings"] < 0, -127, 127)
    student.arguments["filters"][:] = np.where(student.arguments["filters"] < 0, -127, 127)
    student.embeddings = student.arguments["embeddings"] * student.arguments["embedding_scales"]
    student.weights = student.arguments["filters"] * student.arguments["filter_scales"]
    columns = draw.rows(WORDS, LENGTHS)

    logits = logits_of(extension.Convolution(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, student.logits(columns), rtol=2e-3, atol=1e-2)
