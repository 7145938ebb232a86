"""What the tests of the C++ extension share: its levels, weights drawn at random, and the head in numpy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]


class Integers(NamedTuple):
    """An array as int8 files hold it: integers, a scale for each line along the last axis, and their product."""

    integers: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]


class Head(NamedTuple):
    """The dense layer, or none, and the classifier."""

    dense: tuple[Array, Array] | None
    classifier: tuple[Array, Array]

    def logits(self, texts: list[Array]) -> Array:
        """The logits of a row, given the features of its texts."""
        features = texts[0]
        if len(texts) == 2:
            one, other = texts
            features = np.concatenate([one, other, one * other, np.abs(one - other)])
        if self.dense is not None:
            features = np.maximum(self.dense[0].astype(float) @ features + self.dense[1], 0.0)
        logits: Array = self.classifier[0].astype(float) @ features + self.classifier[1]
        return logits


class Draw:
    """Random weights, the same in every run."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(7)

    def floats(self, *shape: int, spread: float = 0.3) -> npt.NDArray[np.float32]:
        return (self._generator.normal(size=shape) * spread).astype(np.float32)

    def integers(self, array: Array, *, limit: int) -> Integers:
        scales = (np.abs(array).max(axis=-1, keepdims=True) / limit).astype(np.float32)
        integers = np.rint(array / scales).clip(-limit, limit).astype(np.int8)
        return Integers(integers, scales, integers * scales)

    def head(self, features: int, *, pair: bool, dense: int = 20) -> Head:
        inputs = 4 * features if pair else features
        layer = (self.floats(dense, inputs, spread=0.2), self.floats(dense)) if dense else None
        return Head(layer, (self.floats(3, dense or inputs), self.floats(3)))

    def rows(self, words: int, lengths: list[int], *, columns: int = 1) -> list[list[list[int]]]:
        """Token ids by column; the second texts of pairs have the lengths of other rows."""
        by_column = [lengths, lengths[::-1]][:columns]
        return [[self._generator.integers(0, words, length).tolist() for length in column] for column in by_column]


@pytest.fixture
def draw() -> Draw:
    return Draw()


@pytest.fixture
def extension() -> Any:
    """The extension, where it was built."""
    return pytest.importorskip("limbeck.runtime._native")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that ask for a `level` run with each one that this processor has."""
    if "level" in metafunc.fixturenames:
        try:
            from limbeck.runtime import _native
        except ImportError:
            metafunc.parametrize("level", ["scalar"])  # `extension` skips it
        else:
            metafunc.parametrize("level", _native.levels())


@pytest.fixture
def logits_of() -> Callable[..., npt.NDArray[np.float32]]:
    """What a network of three classes says of rows."""

    def logits(network: Any, columns: list[list[list[int]]], *, threads: int = 1) -> npt.NDArray[np.float32]:
        out = np.full((len(columns[0]), 3), np.nan, dtype=np.float32)
        network.logits(columns, out, threads)
        return out

    return logits
