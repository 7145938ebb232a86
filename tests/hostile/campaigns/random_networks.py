"""Arguments for the extension's networks, drawn at random: such as fit together, and such as somebody has spoilt."""

import random
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Columns = list[Any]
GATES = {"lstm": 4, "gru": 3}
SPOILT: list[Any] = [
    *(None, True, 0, 1, -1, 3, 2**31, 2**63 - 1, -(2**63), 2**70, 0.5, float("nan"), "", "x", "avx2", b"", b"\0" * 12),
    *([], (), {}, [0], [2**63 - 1, 2**63 - 1, 5], [-1], [[1]], object()),
]
EXTREME = [0, -1, 1, 2**31 - 1, 2**31, 2**32 + 1, 2**62, 2**63 - 1, -(2**63)]


class Strange:
    """Becomes an int or a truth only by running code, which fails."""

    def __index__(self) -> int:
        raise LookupError("asked for a number")

    def __bool__(self) -> bool:
        raise LookupError("asked for a truth")


class Draw:
    """Random sizes, arrays and mistakes; the same for the same seed."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self._numbers = np.random.default_rng(self.chance.getrandbits(32))
        self.is_finite = self.chance.random() < 0.9

    def floats(self, *shape: int) -> Array:
        """Float32, sometimes with what no weight should be, sometimes where no float32 should lie in memory."""
        array = (self._numbers.normal(size=shape) * 0.3).astype(np.float32)
        if not self.is_finite and array.size:
            odd = self.chance.choice([np.nan, np.inf, -np.inf, 3e38, 1e-45])
            array.flat[self.chance.randrange(array.size)] = odd
        return _misaligned(array) if self.chance.random() < 0.1 else array

    def matrix(self, *shape: int, scales: tuple[int, ...], limit: int = 127) -> tuple[Array, Array | None]:
        """Floats without scales, or integers with them."""
        if self.chance.random() < 0.5:
            return self.floats(*shape), None
        integers = self._numbers.integers(-limit, limit + 1, size=shape).astype(np.int8)
        return integers, np.abs(self.floats(*scales)) / limit

    def head(self, features: int, *, pair: bool) -> dict[str, Any]:
        """The layers behind the features."""
        inputs = 4 * features if pair else features
        found: dict[str, Any] = {"pair": pair}
        if self.chance.random() < 0.5:
            size = self.chance.randint(1, 40)
            found["dense"] = (self.floats(size, inputs), self.floats(size))
            inputs = size
        classes = self.chance.randint(1, 5)
        return found | {"classifier": (self.floats(classes, inputs), self.floats(classes))}


def network_arguments(draw: Draw, levels: list[str]) -> tuple[str, dict[str, Any]]:
    """The name of a kind of network, and arguments that it takes."""
    chance = draw.chance
    words, width, pair = chance.randint(1, 60), chance.randint(1, 70), chance.random() < 0.3
    embeddings, scales = draw.matrix(words + 1, width, scales=(words + 1,))
    found: dict[str, Any] = {"embeddings": embeddings, "embedding_scales": scales}
    found["level"] = chance.choice([None, *levels])
    found["folding_bytes"] = chance.choice([0, 1, 3_000, 1 << 26, -1, 1 << 62])
    match kind := chance.choice(["Recurrent", "Convolution", "Bag"]):
        case "Recurrent":
            found |= _recurrent(draw, width, pair=pair)
        case "Convolution":
            found |= _convolution(draw, width, pair=pair)
        case _:
            found["word_weights"] = chance.choice([None, draw.floats(words + 1)])
            found["unit_length"] = chance.random() < 0.5
            found |= draw.head(width, pair=pair)
    return kind, found


def _recurrent(draw: Draw, width: int, *, pair: bool) -> dict[str, Any]:
    chance = draw.chance
    cell, hidden = chance.choice(["lstm", "gru"]), chance.randint(1, 40)
    pooling, states = chance.choice(["max", "last", "mean", "attention"]), 2 * hidden
    layers = [_layer(draw, cell, states if number else width, hidden) for number in range(chance.choice([1, 1, 2, 3]))]
    found: dict[str, Any] = {"cell": cell, "pooling": pooling, "layers": layers}
    if pooling == "attention":
        weight, scales = draw.matrix(states, states, scales=(states,), limit=63)
        found["attention"] = (weight, scales, draw.floats(states), draw.floats(states, 1))
    return found | draw.head(states, pair=pair)


def _layer(draw: Draw, cell: str, inputs: int, hidden: int) -> tuple[Any, ...]:
    outputs = GATES[cell] * hidden
    parts: list[Any] = []
    for width in (inputs, hidden):
        weight, scales = draw.matrix(2, outputs, width, scales=(2, outputs), limit=63 if cell == "lstm" else 127)
        is_turned = cell == "lstm" and scales is not None
        parts += [weight.transpose(0, 2, 1).copy() if is_turned else weight, scales]
    return (*parts, draw.floats(2, 2 * outputs))


def _convolution(draw: Draw, width: int, *, pair: bool) -> dict[str, Any]:
    windows = [draw.chance.randint(1, 6) for _ in range(draw.chance.randint(1, 3))]
    filters = draw.chance.randint(1, 30)
    outputs, features = sum(windows) * filters, len(windows) * filters
    weight, scales = draw.matrix(width, outputs, scales=(outputs,), limit=63)
    found = {"windows": windows, "filters": weight, "filter_scales": scales, "bias": draw.floats(features)}
    return found | draw.head(features, pair=pair)


def spoilt(draw: Draw, arguments: dict[str, Any]) -> str:
    """Change one argument, or a part of one, and say which."""
    chance = draw.chance
    key = chance.choice([*arguments, "colour"])
    if chance.random() < 0.1 and key in arguments:
        del arguments[key]
        return f"no {key}"
    arguments[key] = spoilt_value(draw, arguments.get(key))
    return f"{key} spoilt"


def spoilt_value(draw: Draw, value: Any) -> Any:
    """Something in its place: a part of it spoilt, an array of another form, or anything at all."""
    chance = draw.chance
    if isinstance(value, tuple | list) and value and chance.random() < 0.7:
        parts = list(value)
        at = chance.randrange(len(parts))
        parts[at] = spoilt_value(draw, parts[at])
        return chance.choice([tuple, list])(parts if chance.random() < 0.8 else parts[:-1])
    if isinstance(value, int) and chance.random() < 0.7:
        return chance.choice(EXTREME)
    if isinstance(value, np.ndarray) and chance.random() < 0.8:
        return spoilt_array(draw, value)
    return chance.choice([*SPOILT, Strange()])


def spoilt_array(draw: Draw, array: Array) -> Any:
    """Another form, type or size."""
    array = np.atleast_1d(array)
    grown = np.zeros(tuple(length + 1 for length in array.shape), dtype=array.dtype)
    with np.errstate(invalid="ignore"):  # what has no bounds becomes an int8
        small = [array.astype(np.int8), array.astype(np.uint8)]
    return draw.chance.choice(
        [
            *(*small, array.astype(np.float64), array.astype(">f4"), array.astype(object)),
            *(array.T, array[::2], array[:0], array[:-1], array.reshape(-1), array[None], grown),
            *(np.asfortranarray(array), np.full(array.shape, -128, np.int8), array.data, array.tobytes()),
            *(array.tolist(), np.float32(1), np.zeros((), dtype=np.float32), np.zeros((2, 0), dtype=np.float32)),
        ]
    )


def random_columns(draw: Draw, words: int, *, pair: bool, rows: int) -> Columns:
    """Token ids that fit, as lists or as bytes, of texts short and long."""
    chance = draw.chance

    def text() -> Any:
        length = chance.choice([1, 1, 2, 3, 8, 17, chance.randint(1, 90)])
        ids = [chance.randrange(words) for _ in range(length)]
        return np.array(ids, dtype=np.int32).tobytes() if chance.random() < 0.3 else ids

    return [[text() for _ in range(rows)] for _ in range(2 if pair else 1)]


def spoilt_call(draw: Draw, columns: Any, out: Any, words: int) -> tuple[Any, Any, Any]:
    """The arguments of `logits`, with one mistake."""
    chance = draw.chance
    threads: Any = 1
    match chance.randrange(4):
        case 0:
            out = chance.choice([spoilt_array(draw, out), None, bytes(out.nbytes), bytearray(out.nbytes), out[:0]])
        case 1:
            threads = chance.choice([-5, 0, 2**40, 2**70, "1", None, Strange(), 1.0])
        case 2 if columns[0]:
            row = chance.randrange(len(columns[0]))
            wrong_ids = [[words], [-1], [2**40], [2**70], [1.0], ["1"], [Strange()], [None], []]
            wrong_texts = [b"\1", b"", np.int32(words).tobytes(), b"\xff" * 4, bytearray(4), "text", (0,), None]
            columns[0][row] = chance.choice([*wrong_ids, *wrong_texts])
        case _:
            columns = chance.choice([[], [*columns, []], tuple(columns), None, [None] * len(columns), columns[0]])
    return columns, out, threads


def _misaligned(array: Array) -> Array:
    """The same numbers, one byte beside where they belong."""
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)
    memory[1:] = np.frombuffer(array.tobytes(), dtype=np.uint8)
    return memory[1:].view(np.float32).reshape(array.shape)
