from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
LogitsOf = Callable[..., npt.NDArray[np.float32]]

WORDS = 50
LENGTHS = [1, 5, 9, 2, 70, 3, 1, 12]


class Student:
    """A student with random weights: the arguments of the extension, and the same in numpy."""

    def __init__(
        self, draw: Any, *, width: int, weighted: bool, pair: bool, int8: bool, dense: int, unit: bool = False
    ) -> None:
        self.unit = unit
        self.embeddings = draw.floats(WORDS + 1, width, spread=0.5)
        self.logarithms = draw.floats(WORDS + 1, spread=2.0) if weighted else None
        self.arguments: dict[str, Any] = {"embeddings": self.embeddings, "pair": pair, "word_weights": self.logarithms}
        self.arguments |= {"unit_length": True} if unit else {}
        if int8:
            stored = draw.integers(self.embeddings, limit=127)
            self.embeddings = stored.values
            self.arguments |= {"embeddings": stored.integers, "embedding_scales": stored.scales}
        self.head = draw.head(width, pair=pair, dense=dense)
        self.arguments |= {"dense": self.head.dense, "classifier": self.head.classifier}

    def logits(self, columns: list[list[list[int]]]) -> Array:
        rows = zip(*columns, strict=True)
        return np.array([self.head.logits([self._features(ids) for ids in texts]) for texts in rows])

    def _features(self, ids: list[int]) -> Array:
        weights = np.ones(len(ids)) if self.logarithms is None else np.exp(self.logarithms[ids].astype(float))
        total = np.sqrt(np.square(weights).sum()) if self.unit else weights.sum()
        mean: Array = weights / total @ self.embeddings[ids].astype(float)
        return mean


@pytest.mark.parametrize("int8", [False, True], ids=["floats", "integers"])
@pytest.mark.parametrize("dense", [0, 20])
@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("width", [1, 30, 64])
def test_it_says_what_numpy_says(
    extension: Any,
    level: str,
    draw: Any,
    logits_of: LogitsOf,
    width: int,
    weighted: bool,
    pair: bool,
    dense: int,
    int8: bool,
) -> None:
    student = Student(draw, width=width, weighted=weighted, pair=pair, dense=dense, int8=int8)
    columns = draw.rows(WORDS, LENGTHS, columns=2 if pair else 1)

    logits = logits_of(extension.Bag(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, student.logits(columns), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("int8", [False, True], ids=["floats", "integers"])
@pytest.mark.parametrize(("dense", "pair"), [(0, False), (20, False), (20, True)])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_weights_of_a_text_may_have_the_length_1_instead_of_the_sum_1(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, weighted: bool, dense: int, pair: bool, int8: bool
) -> None:
    student = Student(draw, width=30, weighted=weighted, pair=pair, dense=dense, int8=int8, unit=True)
    columns = draw.rows(WORDS, LENGTHS, columns=2 if pair else 1)

    logits = logits_of(extension.Bag(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, student.logits(columns), rtol=1e-5, atol=2e-5)


def test_weights_may_be_so_large_that_their_exponentials_overflow(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf
) -> None:
    student = Student(draw, width=30, weighted=True, pair=False, dense=20, int8=False)
    columns = draw.rows(WORDS, LENGTHS)
    expected = student.logits(columns)
    student.arguments["word_weights"] = student.arguments["word_weights"] + np.float32(500)

    logits = logits_of(extension.Bag(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("unit", [False, True], ids=["sum", "length"])
def test_weights_may_be_so_far_apart_that_their_squares_are_no_floats(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, unit: bool
) -> None:
    student = Student(draw, width=30, weighted=True, pair=False, dense=20, int8=False, unit=unit)
    assert student.logarithms is not None
    student.logarithms[:] = np.where(np.arange(WORDS + 1) % 2, 60, -60) + student.logarithms
    columns = [[[0, 2, 4], [1, 3, 5], [0, 1, 2], [6]]]

    logits = logits_of(extension.Bag(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, student.logits(columns), rtol=1e-4, atol=1e-4)


def test_ids_may_come_as_bytes(extension: Any, level: str, draw: Any, logits_of: LogitsOf) -> None:
    student = Student(draw, width=30, weighted=True, pair=True, dense=20, int8=True)
    columns, network = draw.rows(WORDS, LENGTHS, columns=2), extension.Bag(**student.arguments, level=level)

    as_bytes = [[np.array(row, dtype=np.int32).tobytes() for row in column] for column in columns]

    assert (logits_of(network, as_bytes) == logits_of(network, columns)).all()
