"""The constants and nodes of an ONNX file, read without the onnx package.

The file is a protobuf message: a sequence of fields with a number, a wire type and a value; nested messages are
length-delimited values. The field numbers are defined in onnx.proto of the ONNX project; only what our exports use is
read here.
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

LONGEST_NUMBER = 10  # bytes of a varint, seven bits each
DTYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}


class GraphNotUnderstood(ValueError):
    """The file is damaged, or has something that our exports do not have; onnxruntime may be able to run it."""


@dataclass(frozen=True)
class Node:
    """One operation, with the names of its inputs and outputs."""

    operator: str
    inputs: list[str]
    outputs: list[str]
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True)
class OnnxFile:
    """A graph: its nodes in order, its inputs, and its constants by name."""

    name: str
    inputs: list[str]
    nodes: list[Node]
    constants: Mapping[str, npt.NDArray[Any]]  # read-only


def read_onnx(path: Path) -> OnnxFile:
    """The graph in this file. Constants are views of the file's bytes, and may be unaligned.

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
    integers: list[int] = []
    for number, value in _fields(data):
        match number:
            case 1:
                name = _text(value)
            case 2:
                found.append(_float(_message(value)))
            case 3:
                found.append(_signed(_integer(value)))
            case 4:
                found.append(_text(value))
            case 8:
                integers += _integers(value)
            case 13 | 20 | 21:  # its documentation, its type, the name it has in a function
                continue
            case _:
                raise GraphNotUnderstood(f"an attribute '{name}' of an unsupported type")
    return {name: found[0] if found else integers}


def _tensor(data: Message) -> tuple[str, npt.NDArray[Any]]:
    name, kind, raw = "", 0, None
    shape: list[int] = []
    for number, value in _fields(data):
        match number:
            case 1:
                shape += _integers(value)
            case 2:
                kind = _integer(value)
            case 8:
                name = _text(value)
            case 9:
                raw = _message(value)
            case 12:  # its documentation
                continue
            case 14 if value == 0:  # its numbers are in this file
                continue
            case _:
                raise GraphNotUnderstood("the values of a constant are not stored in it as raw bytes")
    return name, _array(name, kind, shape, raw)


def _array(name: str, kind: int, shape: list[int], raw: Message | None) -> npt.NDArray[Any]:
    if kind not in DTYPES:
        raise GraphNotUnderstood(f"the constant '{name}' is of the unsupported type {kind}")
    try:
        if any(size < 0 for size in shape):
            raise ValueError(f"its shape is {shape}")
        return np.frombuffer(b"" if raw is None else raw, dtype=DTYPES[kind]).reshape(shape)
    except ValueError as error:
        raise GraphNotUnderstood(f"the constant '{name}' is not an array: {error}") from None


def _fields(data: Message) -> Iterator[Field]:
    """Number and value of each field: an int for a varint, the bytes for any other type."""
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
                raise GraphNotUnderstood(f"a field of the unsupported wire type {kind}")
        if place + size > end:
            raise GraphNotUnderstood("it ends in the middle of a field")
        yield tag >> 3, data[place : place + size]
        place += size


def _varint(data: Message, place: int) -> tuple[int, int]:
    """An integer, seven bits per byte and the lowest first, and the position after it."""
    number = 0
    for step, byte in enumerate(data[place : place + LONGEST_NUMBER]):
        number |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return number, place + step + 1
    raise GraphNotUnderstood("it ends in the middle of a number")


def _integers(value: int | Message) -> list[int]:
    """The integers of a repeated field: one of them, or all of them packed."""
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


def _integer(value: int | Message) -> int:
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
        raise GraphNotUnderstood("a name that is not UTF-8") from None
