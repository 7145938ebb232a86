from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
LogitsOf = Callable[..., npt.NDArray[np.float32]]

WORDS, WIDTH = 50, 30
LENGTHS = [1, 5, 9, 9, 2, 70, 3, 1, 12]
GATES = {"lstm": 4, "gru": 3}
LIMITS = {"lstm": 63, "gru": 127}  # of integers, as files hold them


class Student:
    """A student with random weights: the arguments of the extension, and the same in numpy."""

    def __init__(
        self,
        draw: Any,
        *,
        cell: str,
        pooling: str = "max",
        layers: int = 1,
        hidden: int = 22,
        pair: bool = False,
        int8: bool = False,
        dense: int = 20,
    ) -> None:
        self.cell, self.pooling, self.int8 = cell, pooling, int8
        self.arguments: dict[str, Any] = {"cell": cell, "pooling": pooling, "pair": pair}
        self._draw_embeddings(draw)
        self.layers = [
            self._draw_layer(draw, 2 * hidden if number else WIDTH, hidden=hidden) for number in range(layers)
        ]
        self.arguments["layers"] = [stored for stored, _ in self.layers]
        if pooling == "attention":
            self._draw_attention(draw, 2 * hidden)
        self.head = draw.head(2 * hidden, pair=pair, dense=dense)
        self.arguments |= {"dense": self.head.dense, "classifier": self.head.classifier}

    def _draw_embeddings(self, draw: Any) -> None:
        self.embeddings = draw.floats(WORDS + 1, WIDTH, spread=0.5)
        if not self.int8:
            self.arguments["embeddings"] = self.embeddings
            return
        stored = draw.integers(self.embeddings, limit=127)
        self.embeddings = stored.values
        self.arguments |= {"embeddings": stored.integers, "embedding_scales": stored.scales}

    def _draw_layer(self, draw: Any, inputs: int, *, hidden: int) -> tuple[tuple[Any, ...], list[Array]]:
        outputs = GATES[self.cell] * hidden
        weights = [draw.floats(2, outputs, width) for width in (inputs, hidden)]
        bias = draw.floats(2, 2 * outputs)
        if not self.int8:
            return (weights[0], None, weights[1], None, bias), [*weights, bias]
        stored: list[Any] = []
        for number, array in enumerate(weights):
            integers = draw.integers(array, limit=LIMITS[self.cell])
            weights[number] = integers.values
            if self.cell == "lstm":
                stored += [integers.integers.transpose(0, 2, 1).copy(), integers.scales.squeeze(-1)]
            else:
                stored += [integers.integers, integers.scales]
        return (*stored, bias), [*weights, bias]

    def _draw_attention(self, draw: Any, states: int) -> None:
        weight, bias, question = draw.floats(states, states), draw.floats(states), draw.floats(states, 1)
        self.attention = (weight, bias, question)
        self.arguments["attention"] = (weight, None, bias, question)
        if self.int8:
            stored = draw.integers(weight.T, limit=63)
            self.attention = (stored.values.T, bias, question)
            self.arguments["attention"] = (stored.integers.T.copy(), stored.scales.squeeze(-1), bias, question)

    def logits(self, columns: list[list[list[int]]]) -> Array:
        rows = zip(*columns, strict=True)
        return np.array([self.head.logits([self._features(ids) for ids in texts]) for texts in rows])

    def _features(self, ids: list[int]) -> Array:
        states = self.embeddings[ids].astype(float)
        for number, (_, weights) in enumerate(self.layers):
            below = self._rounded(states) if number else states
            there, back = (array for array in zip(*weights, strict=True))
            states = np.concatenate([self._walk(below, *there), self._walk(below[::-1], *back)[::-1]], axis=1)
        return self._pooled(states)

    def _rounded(self, states: Array) -> Array:
        return np.rint(states * 127) / 127 if self.int8 else states

    def _walk(self, inputs: Array, input_weights: Array, weights: Array, bias: Array) -> Array:
        """The states of one direction, (tokens, hidden)."""
        input_weights, weights, bias = (array.astype(float) for array in (input_weights, weights, bias))
        input_bias, state_bias = np.split(bias, 2)
        state = cell = np.zeros(weights.shape[1])
        states = []
        for vector in inputs:
            given = input_weights @ vector + input_bias
            recalled = weights @ self._rounded(state) + state_bias
            if self.cell == "lstm":
                into, out, forget, fresh = np.split(given + recalled, 4)
                cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(fresh)
                state = sigmoid(out) * np.tanh(cell)
            else:
                (update, reset, fresh), (_, _, old) = np.split(given, 3), np.split(recalled, 3)
                update, reset = (
                    sigmoid(gate + more) for gate, more in zip((update, reset), np.split(recalled, 3)[:2], strict=True)
                )
                state = (1 - update) * np.tanh(fresh + reset * old) + update * state
            states.append(state)
        return np.array(states)

    def _pooled(self, states: Array) -> Array:
        hidden = states.shape[1] // 2
        match self.pooling:
            case "max":
                pooled: Array = states.max(axis=0)
            case "mean":
                pooled = states.mean(axis=0)
            case "last":
                pooled = np.concatenate([states[-1, :hidden], states[0, hidden:]])
            case _:
                weight, bias, question = (array.astype(float) for array in self.attention)
                shares = np.exp(np.tanh(self._rounded(states) @ weight + bias) @ question)
                pooled = (shares / shares.sum() * states).sum(axis=0)
        return pooled


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("pooling", ["max", "last", "mean", "attention"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_floats_say_what_numpy_says(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, cell: str, pooling: str, layers: int, pair: bool
) -> None:
    student = Student(draw, cell=cell, pooling=pooling, layers=layers, pair=pair)
    columns = draw.rows(WORDS, LENGTHS, columns=2 if pair else 1)

    logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, student.logits(columns), rtol=0, atol=1e-5)


@pytest.mark.parametrize("pair", [False, True], ids=["single", "pair"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("pooling", ["max", "last", "mean", "attention"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_integers_say_nearly_what_numpy_says(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, cell: str, pooling: str, layers: int, pair: bool
) -> None:
    """A state that lies between two steps may be rounded the other way, and that goes on from step to step."""
    student = Student(draw, cell=cell, pooling=pooling, layers=layers, pair=pair, int8=True)
    columns = draw.rows(WORDS, LENGTHS, columns=2 if pair else 1)

    logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

    expected = student.logits(columns)
    assert np.abs(logits - expected).max() < 0.05 * expected.std(axis=0).max()


@pytest.mark.parametrize("int8", [False, True], ids=["floats", "integers"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_any_number_of_units_fits(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, cell: str, int8: bool
) -> None:
    for hidden in (1, 3, 4, 8, 12, 16, 24, 31, 40):
        student = Student(draw, cell=cell, hidden=hidden, layers=2, int8=int8, dense=0)
        columns = draw.rows(WORDS, LENGTHS)

        logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

        expected, bound = student.logits(columns), 0.03 if int8 else 1e-5
        np.testing.assert_allclose(logits, expected, rtol=0, atol=bound, err_msg=f"{hidden} units")


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_gates_may_be_wide_open(extension: Any, level: str, draw: Any, logits_of: LogitsOf, cell: str) -> None:
    """What gates are given goes far beyond where sigmoids are 0 or 1 in floats, and powers would overflow."""
    for int8 in (False, True):
        student = Student(draw, cell=cell, int8=int8)
        if int8:
            student.arguments["embedding_scales"] = student.arguments["embedding_scales"] * np.float32(500)
        else:
            student.arguments["embeddings"] = student.arguments["embeddings"] * np.float32(500)
        student.embeddings = student.embeddings * 500
        columns = draw.rows(WORDS, LENGTHS)

        logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

        with np.errstate(over="ignore"):
            expected = student.logits(columns)
        np.testing.assert_allclose(logits, expected, rtol=0, atol=0.05 if int8 else 1e-4)


@pytest.mark.parametrize("int8", [False, True], ids=["floats", "integers"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_what_a_cell_keeps_does_not_fade_over_a_long_text(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, cell: str, int8: bool
) -> None:
    """Gates that are all but open or shut, at every word but the first and the last: a little less adds up."""
    hidden = 22
    student = Student(draw, cell=cell, pooling="last", hidden=hidden, int8=int8, dense=0)
    bias = student.layers[0][1][2]
    if cell == "lstm":
        bias[:, :hidden] -= 14  # the input's gate
        bias[:, 2 * hidden : 3 * hidden] += 12  # what is kept of the cell
    else:
        bias[:, :hidden] += 14  # what is kept of the state
    loud = student.arguments["embedding_scales" if int8 else "embeddings"]
    loud[0] *= 60
    student.embeddings[0] = student.embeddings[0] * (60 if int8 else 1)
    columns = [[[0, *draw.rows(WORDS - 1, [1500])[0][0], 0]]]
    columns[0][0][1:-1] = [word + 1 for word in columns[0][0][1:-1]]

    logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

    np.testing.assert_allclose(logits, student.logits(columns), rtol=0, atol=0.01 if int8 else 1e-4)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_weights_of_one_sign_do_not_drown_what_words_say(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, cell: str
) -> None:
    """States have an offset as bytes. What undoes it is as large as all weights of a gate together."""
    student = Student(draw, cell=cell, pooling="mean", hidden=150, int8=True, dense=0)
    stored, weights = student.layers[0]
    student.arguments["layers"] = [(*stored[:2], np.abs(stored[2]), *stored[3:])]
    weights[1] = np.abs(weights[1])
    columns = draw.rows(WORDS, [1, 2, 3, 5, 8] * 20)

    logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

    expected = student.logits(columns)
    assert np.abs(logits - expected).mean() < 0.005 * expected.std()


def test_integers_of_weights_may_read_floats_and_the_other_way_round(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf
) -> None:
    student = Student(draw, cell="lstm", int8=True)
    columns = draw.rows(WORDS, LENGTHS)
    plain = student.arguments | {"embeddings": student.embeddings, "embedding_scales": None}
    (_, _, *rest) = student.arguments["layers"][0]
    low_rank = student.arguments | {"layers": [(student.layers[0][1][0], None, *rest)]}

    for arguments in (plain, low_rank):
        logits = logits_of(extension.Recurrent(**arguments, level=level), columns)

        np.testing.assert_allclose(logits, student.logits(columns), rtol=0, atol=0.03)


def test_directions_may_have_integers_of_different_size(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf
) -> None:
    """Without VNNI, wide integers are multiplied in another way, which wants other bytes of the layer below."""
    student = Student(draw, cell="lstm", layers=2, int8=True)
    columns = draw.rows(WORDS, LENGTHS)
    (weights, scales, *_), (values, *_) = student.layers[1]
    weights[1], scales[1] = weights[1] * 2, scales[1] / 2

    logits = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

    np.testing.assert_allclose(values[1], (weights[1] * scales[1]).T, rtol=1e-6)
    np.testing.assert_allclose(logits, student.logits(columns), rtol=0, atol=0.03)


@pytest.mark.parametrize("int8", [False, True], ids=["floats", "integers"])
def test_arrays_may_stand_anywhere_in_memory(
    extension: Any, level: str, draw: Any, logits_of: LogitsOf, int8: bool
) -> None:
    """As they do where a file was read in one piece."""
    student = Student(draw, cell="lstm", int8=int8)
    columns = draw.rows(WORDS, LENGTHS)
    expected = logits_of(extension.Recurrent(**student.arguments, level=level), columns)

    logits = logits_of(extension.Recurrent(**moved(student.arguments), level=level), columns)

    np.testing.assert_array_equal(logits, expected)


def moved(value: Any) -> Any:
    """The same, but with every array at an odd place, which cannot be written to."""
    match value:
        case np.ndarray():
            array = np.frombuffer(b"?" + value.tobytes(), dtype=value.dtype, offset=1).reshape(value.shape)
            assert value.itemsize == 1 or not array.flags.aligned
            return array
        case dict():
            return {name: moved(each) for name, each in value.items()}
        case tuple() | list():
            return [moved(each) for each in value]
        case _:
            return value
