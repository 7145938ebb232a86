"""Changes of the constants of an ONNX graph, by a seed: their numbers, shapes, types and how they are stored."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, numpy_helper

Array = npt.NDArray[Any]

FEW = 12  # numbers: constants of so few say how the graph computes
MODERATE = (0.25, 0.5, -1.0, 1.5, 2.0)
EXTREME = (float("nan"), float("inf"), float("-inf"), 1e5, -1e9, 1e30, 3e38, 1e-42)


def _here(model: ModelProto) -> list[TensorProto]:
    """Those whose numbers an earlier change has not moved elsewhere."""
    return [tensor for tensor in model.graph.initializer if tensor.data_location == TensorProto.DEFAULT]


def _of(model: ModelProto, chance: random.Random, *, where: Callable[[Array], bool]) -> TensorProto | None:
    found = [tensor for tensor in _here(model) if where(numpy_helper.to_array(tensor))]
    return chance.choice(found) if found else None


def _store(tensor: TensorProto, array: Array) -> None:
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))


def setting_changed(model: ModelProto, chance: random.Random) -> str:
    """One of the few numbers that say how to compute: an axis, a limit, a margin."""
    tensor = _of(model, chance, where=lambda array: 0 < array.size <= FEW)
    if tensor is None:
        return ""
    array = numpy_helper.to_array(tensor).copy()
    place = chance.randrange(array.size)
    is_float = array.dtype.kind == "f"
    array.flat[place] = chance.choice((0, 1, -1, 2, 3, *((1e30, -3.0, 0.5) if is_float else ())))
    _store(tensor, array)
    return f"{tensor.name} = {array.tolist()}"


def weights_changed(model: ModelProto, chance: random.Random) -> str:
    """As training might have: the native engine has to follow."""
    tensor = _of(model, chance, where=lambda array: array.dtype.kind == "f" and array.size > 1)
    if tensor is None:
        return ""
    array, factor = numpy_helper.to_array(tensor).copy(), np.float32(chance.choice(MODERATE))
    dice = np.random.default_rng(chance.randrange(1 << 32))
    rows = dice.random(len(array)) < chance.choice((0.3, 1))
    with np.errstate(over="ignore"):
        array[rows] = array[rows] * factor
    _store(tensor, array)
    return f"{tensor.name} times {factor}"


def weights_shuffled(model: ModelProto, chance: random.Random) -> str:
    tensor = _of(model, chance, where=lambda array: array.size > FEW and array.dtype.kind in "fi")
    if tensor is None:
        return ""
    array = numpy_helper.to_array(tensor)
    _store(tensor, array[np.random.default_rng(chance.randrange(1 << 32)).permutation(len(array))])
    return str(tensor.name)


def weight_extreme(model: ModelProto, chance: random.Random) -> str:
    """A number that no training gives."""
    tensor = _of(model, chance, where=lambda array: array.dtype.kind == "f" and array.size > 1)
    if tensor is None:
        return ""
    array, value = numpy_helper.to_array(tensor).copy(), np.float32(chance.choice(EXTREME))
    place = chance.choice((0, array.size - 1, chance.randrange(array.size)))
    array.flat[place] = value
    if chance.random() < 0.3:
        array[...] = value
    _store(tensor, array)
    return f"{tensor.name} = {value} at {place}"


def last_row_changed(model: ModelProto, chance: random.Random) -> str:
    """That of the tables of words, which is used for all positions outside a text."""
    names = ("embeddings", "embeddings.int8", "embeddings.scale", "word_weights")
    tables = [tensor for tensor in _here(model) if tensor.name in names]
    if not tables:
        return ""
    tensor = chance.choice(tables)
    array = numpy_helper.to_array(tensor).copy()
    array[-1] = chance.choice((0, 1, 2, -1))
    _store(tensor, array)
    return f"{tensor.name} = {array[-1].tolist()}"


def integers_changed(model: ModelProto, chance: random.Random) -> str:
    """Numbers in int8, up to the largest there are, and zero points."""
    tensor = _of(model, chance, where=lambda array: array.dtype == np.int8)
    if tensor is None:
        return ""
    array, value = numpy_helper.to_array(tensor).copy(), chance.choice((0, 1, 40, -60, 63, 64, 100, 127, -127, -128))
    places = [chance.randrange(array.size) for _ in range(chance.choice((1, 3, 20)))]
    array.flat[places] = value
    _store(tensor, array)
    return f"{tensor.name} = {value} at {places[:3]}"


def scales_changed(model: ModelProto, chance: random.Random) -> str:
    scales = [tensor for tensor in _here(model) if tensor.name.endswith(".scale")]
    if not scales:
        return ""
    tensor = chance.choice(scales)
    array = numpy_helper.to_array(tensor).copy()
    array *= np.float32(chance.choice((*MODERATE, 0.0)))
    if chance.random() < 0.3:
        array.flat[chance.randrange(array.size)] = chance.choice((0.0, -0.01, 100.0))
    _store(tensor, array)
    return str(tensor.name)


def shape_changed(model: ModelProto, chance: random.Random) -> str:
    tensor = _of(model, chance, where=lambda array: array.size > 1)
    if tensor is None:
        return ""
    array = numpy_helper.to_array(tensor)
    shapes: list[Callable[[], Array]] = [
        lambda: array.T,
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.reshape(array.shape[::-1]),
        lambda: array[:-1],
        lambda: np.concatenate([array, array[-1:]]),
        lambda: array[..., :-1],
        lambda: array[:0],
    ]
    _store(tensor, chance.choice(shapes)())
    return f"{tensor.name} {array.shape} to {list(tensor.dims)}"


def type_changed(model: ModelProto, chance: random.Random) -> str:
    tensor = chance.choice(_here(model))
    array, other = numpy_helper.to_array(tensor), chance.choice(("f2", "f4", "f8", "i4", "i8", "i1", "u1"))
    with np.errstate(all="ignore"):
        _store(tensor, array.astype(other))
    return f"{tensor.name} to {other}"


def stored_otherwise(model: ModelProto, chance: random.Random) -> str:
    """The same numbers, in another field; or said to be in another file."""
    tensor = chance.choice(_here(model))
    array, how = numpy_helper.to_array(tensor), chance.choice(("numbers", "documentation", "elsewhere", "twice"))
    if how == "twice":
        model.graph.initializer.append(tensor)
        _store(model.graph.initializer[-1], array * 2 if array.dtype.kind == "f" else array)
    elif how == "documentation":
        tensor.doc_string = "learned"
    elif how == "elsewhere":
        tensor.data_location = chance.choice((TensorProto.DEFAULT, TensorProto.EXTERNAL))
    elif array.dtype == np.float32:
        tensor.ClearField("raw_data")
        tensor.float_data.extend(array.reshape(-1).tolist())
    return f"{tensor.name} {how}"


def constants_reordered(model: ModelProto, chance: random.Random) -> str:
    model.graph.initializer.append(model.graph.initializer.pop(chance.randrange(len(model.graph.initializer))))
    return str(model.graph.initializer[-1].name)


def constant_removed(model: ModelProto, chance: random.Random) -> str:
    return str(model.graph.initializer.pop(chance.randrange(len(model.graph.initializer))).name)


def constant_added(model: ModelProto, chance: random.Random) -> str:
    """One that nobody reads; some of these names say what kind of student it is."""
    name = chance.choice(("unread", "word_weights", "below_every_state", "level_1.B", "dense.weight", "no_state"))
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(chance.choice((1, 3)), dtype=np.float32), name))
    return name


CONSTANT_CHANGES = (
    *(setting_changed, setting_changed, weights_changed, weights_changed, weights_shuffled, weight_extreme),
    *(last_row_changed, integers_changed, scales_changed, shape_changed, type_changed, stored_otherwise),
    *(constants_reordered, constant_removed, constant_added),
)
