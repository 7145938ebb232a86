"""The constants and nodes of an ONNX file, read without the onnx package.

The file is a protobuf message: fields of a number, a kind and a value, one after the other; messages inside are values
of a length. What each number means stands in onnx.proto of the ONNX project; only what our exports hold is read here.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Message: TypeAlias = memoryview
Field: TypeAlias = tuple[int, int | Message]
Attribute: TypeAlias = int | float | str | list[int]

LONGEST_NUMBER = 10  # bytes, of seven bits each
DTYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}


class GraphNotUnderstood(ValueError):
    """The file is damaged, or holds something that our exports do not; onnxruntime may know better."""


@dataclass(frozen=True)
class Node:
    """One operation, with the names of what it reads and makes."""

    operator: str
    inputs: list[str]
    outputs: list[str]
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True)
class OnnxFile:
    """A graph: its nodes in their order, what it is fed with, and its constants by name."""

    name: str
    inputs: list[str]
    nodes: list[Node]
    constants: Mapping[str, npt.NDArray[Any]]  # not to be written to


def read_onnx(path: Path) -> OnnxFile:
    """The graph in this file. Constants are views of the file's bytes, and may stand at odd addresses.

    Raises GraphNotUnderstood.
    """
    return graph_of(memoryview(path.read_bytes()))


def graph_of(data: Message) -> OnnxFile:
    """The graph of a model's bytes."""
    graphs = []
    for number, value in _fields(data):
        if number == 7:
            graphs.append(_message(value))
        elif number == 25:
            raise GraphNotUnderstood("it defines functions of its own")
    if len(graphs) != 1:
        raise GraphNotUnderstood(f"it holds {len(graphs)} graphs, not one")
    return _graph(graphs[0])


def _graph(data: Message) -> OnnxFile:
    name, inputs, nodes = "", [], []
    constants: dict[str, npt.NDArray[Any]] = {}
    for number, value in _fields(data):
        match number:
            case 1:
                nodes.append(_node(_message(value)))
            case 2:
                name = _text(value)
            case 5:
                constant, array = _tensor(_message(value))
                constants[constant] = array
            case 11:
                inputs += [_text(inner) for field, inner in _fields(_message(value)) if field == 1]
            case 15:
                raise GraphNotUnderstood("it holds sparse constants")
    return OnnxFile(name, inputs, nodes, constants)


def _node(data: Message) -> Node:
    operator, inputs, outputs = "", [], []
    attributes: dict[str, Attribute] = {}
    for number, value in _fields(data):
        match number:
            case 1:
                inputs.append(_text(value))
            case 2:
                outputs.append(_text(value))
            case 4:
                operator = _text(value)
            case 5:
                attributes |= _attribute(_message(value))
    return Node(operator, inputs, outputs, attributes)


def _attribute(data: Message) -> dict[str, Attribute]:
    name, found = "", list[Attribute]()
    whole_numbers: list[int] = []
    for number, value in _fields(data):
        match number:
            case 1:
                name = _text(value)
            case 2:
                found.append(_float(_message(value)))
            case 3:
                found.append(_signed(_whole(value)))
            case 4:
                found.append(_text(value))
            case 8:
                whole_numbers += _whole_numbers(value)
            case 13 | 20 | 21:  # its documentation, its type, the name it has in a function
                continue
            case _:
                raise GraphNotUnderstood(f"an attribute '{name}' of a kind that is not known here")
    return {name: found[0] if found else whole_numbers}


def _tensor(data: Message) -> tuple[str, npt.NDArray[Any]]:
    name, kind, raw = "", 0, None
    shape: list[int] = []
    for number, value in _fields(data):
        match number:
            case 1:
                shape += _whole_numbers(value)
            case 2:
                kind = _whole(value)
            case 8:
                name = _text(value)
            case 9:
                raw = _message(value)
            case 12:  # its documentation
                continue
            case 14 if value == 0:  # its numbers are in this file
                continue
            case _:
                raise GraphNotUnderstood("the numbers of a constant do not stand in it as plain bytes")
    return name, _array(name, kind, shape, raw)


def _array(name: str, kind: int, shape: list[int], raw: Message | None) -> npt.NDArray[Any]:
    if kind not in DTYPES:
        raise GraphNotUnderstood(f"the constant '{name}' is of type {kind}, which is not known here")
    try:
        if any(size < 0 for size in shape):
            raise ValueError(f"its shape is {shape}")
        return np.frombuffer(b"" if raw is None else raw, dtype=DTYPES[kind]).reshape(shape)
    except ValueError as error:
        raise GraphNotUnderstood(f"the constant '{name}' is no array: {error}") from None


def _fields(data: Message) -> Iterator[Field]:
    """Number and value of each field; the value of a whole number is that, of all others their bytes."""
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        match tag & 7:
            case 0:
                number, place = _varint(data, place)
                yield tag >> 3, number
                continue
            case 2:
                size, place = _varint(data, place)
            case 1:
                size = 8
            case 5:
                size = 4
            case kind:
                raise GraphNotUnderstood(f"a field of the kind {kind}, which is not known here")
        if place + size > end:
            raise GraphNotUnderstood("it ends in the middle of a field")
        yield tag >> 3, data[place : place + size]
        place += size


def _varint(data: Message, place: int) -> tuple[int, int]:
    """A whole number, seven bits a byte and the lowest first, and the place behind it."""
    number = 0
    for step, byte in enumerate(data[place : place + LONGEST_NUMBER]):
        number |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return number, place + step + 1
    raise GraphNotUnderstood("it ends in the middle of a number")


def _whole_numbers(value: int | Message) -> list[int]:
    """Of a field that may be repeated: one of them, or all of them in one."""
    if isinstance(value, int):
        return [_signed(value)]
    numbers, place = [], 0
    while place < len(value):
        number, place = _varint(value, place)
        numbers.append(_signed(number))
    return numbers


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _float(data: Message) -> float:
    if len(data) != 4:
        raise GraphNotUnderstood(f"a number of {len(data)} bytes")
    number: float = struct.unpack("<f", data)[0]
    return number


def _whole(value: int | Message) -> int:
    if not isinstance(value, int):
        raise GraphNotUnderstood("bytes where a number is expected")
    return value


def _message(value: int | Message) -> Message:
    if isinstance(value, int):
        raise GraphNotUnderstood("a number where bytes are expected")
    return value


def _text(value: int | Message) -> str:
    try:
        return str(_message(value), "utf-8")
    except UnicodeDecodeError:
        raise GraphNotUnderstood("a name that is no text") from None
