"""An ONNX file, read without the onnx package and strictly: what our exports do not write is not understood.

The file is a protobuf message: a sequence of fields with a number, a wire type and a value; nested messages are
length-delimited values. The field numbers are defined in onnx.proto of the ONNX project. A field that is not known
here, is of another wire type or comes twice is refused and never skipped: whoever reads the graph has seen all of it,
and no other reader of the same bytes can see another graph.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Message: TypeAlias = memoryview
Attribute: TypeAlias = int | str | list[int]

LONGEST_NUMBER = 10  # bytes of a varint, seven bits each
DTYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}
VARINT, BLOCK, FIXED_SIZES = 0, 2, {1: 8, 5: 4}  # wire types, and the bytes of those of one size
NUMBER, NUMBERS, BYTES, MESSAGES = "number", "numbers", "bytes", "messages"
WIRES = {NUMBER: (VARINT,), NUMBERS: (VARINT, BLOCK), BYTES: (BLOCK,), MESSAGES: (BLOCK,)}  # numbers may be packed
REPEATED = (NUMBERS, MESSAGES)

# What each message may hold. Documentation, and who wrote a model, have no effect; everything else is compared.
MODEL = {1: NUMBER, 2: BYTES, 3: BYTES, 4: BYTES, 5: NUMBER, 6: BYTES, 7: BYTES, 8: MESSAGES}
OPSET = {1: BYTES, 2: NUMBER}
GRAPH = {1: MESSAGES, 2: BYTES, 5: MESSAGES, 10: BYTES, 11: MESSAGES, 12: MESSAGES}
NODE = {1: MESSAGES, 2: MESSAGES, 3: BYTES, 4: BYTES, 5: MESSAGES, 6: BYTES, 7: BYTES}
ATTRIBUTE = {1: BYTES, 3: NUMBER, 4: BYTES, 8: NUMBERS, 13: BYTES, 20: NUMBER}
ATTRIBUTE_FIELDS = {2: 3, 3: 4, 7: 8}  # the field of an attribute's value, by its type: INT, STRING, INTS
TENSOR = {1: NUMBERS, 2: NUMBER, 8: BYTES, 9: BYTES, 12: BYTES, 14: NUMBER}
VALUE, TYPE, TENSOR_TYPE = {1: BYTES, 2: BYTES}, {1: BYTES}, {1: NUMBER, 2: BYTES}
SHAPE, DIMENSION = {1: MESSAGES}, {1: NUMBER, 2: BYTES}


class GraphNotUnderstood(ValueError):
    """The file is damaged, or has something that our exports do not have; onnxruntime may be able to run it."""


@dataclass(frozen=True)
class Node:
    """One operation, with the names of its inputs and outputs. Its own name has no effect."""

    operator: str
    inputs: list[str]
    outputs: list[str]
    attributes: Mapping[str, Attribute]
    domain: str = ""


@dataclass(frozen=True)
class GraphValue:
    """An input or output of a graph."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]  # a size, or the name of one that varies


@dataclass(frozen=True)
class OnnxFile:
    """A graph: its nodes in order, its inputs and outputs, and its constants by name."""

    name: str
    ir_version: int
    opsets: Mapping[str, int]  # the version of each domain of operators
    inputs: list[GraphValue]
    outputs: list[GraphValue]
    nodes: list[Node]
    constants: Mapping[str, npt.NDArray[Any]]  # read-only


def read_onnx(path: Path) -> OnnxFile:
    """The graph in this file. Constants are views of the file's bytes, and may be unaligned.

    Raises GraphNotUnderstood.
    """
    return graph_of(memoryview(path.read_bytes()))


def graph_of(data: Message) -> OnnxFile:
    """The graph of a model's bytes."""
    model = MessageFields(data, MODEL, what="the model")
    if not model.has(7):
        raise GraphNotUnderstood("it holds no graph")
    graph = MessageFields(model.message(7), GRAPH, what="the graph")
    opsets = (MessageFields(one, OPSET, what="a version of operators") for one in model.messages(8))
    return OnnxFile(
        name=graph.text(2),
        ir_version=model.number(1),
        opsets=_by_name(((one.text(1), one.number(2)) for one in opsets), what="a version of operators"),
        inputs=[_value(value) for value in graph.messages(11)],
        outputs=[_value(value) for value in graph.messages(12)],
        nodes=[_node(node) for node in graph.messages(1)],
        constants=_by_name(map(_tensor, graph.messages(5)), what="a constant"),
    )


def _by_name(pairs: Iterator[tuple[str, Any]], *, what: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, value in pairs:
        if name in named:
            raise GraphNotUnderstood(f"it has {what} '{name}' twice")
        named[name] = value
    return named


def _value(data: Message) -> GraphValue:
    value = MessageFields(data, VALUE, what="an input or output")
    tensor = MessageFields(
        MessageFields(value.message(2), TYPE, what="a type").message(1), TENSOR_TYPE, what="the type of a tensor"
    )
    shape = MessageFields(tensor.message(2), SHAPE, what="a shape")
    return GraphValue(value.text(1), _dtype(tensor.number(1)), tuple(map(_dimension, shape.messages(1))))


def _dimension(data: Message) -> int | str:
    size = MessageFields(data, DIMENSION, what="a dimension")
    if size.has(1) == size.has(2):
        raise GraphNotUnderstood("a dimension that is neither a number nor a name")
    return size.number(1) if size.has(1) else size.text(2)


def _node(data: Message) -> Node:
    node = MessageFields(data, NODE, what="a node")
    node.text(3)  # its name must be readable, and is not used
    return Node(
        operator=node.text(4),
        inputs=[_text(name) for name in node.messages(1)],
        outputs=[_text(name) for name in node.messages(2)],
        attributes=_by_name(map(_attribute, node.messages(5)), what="an attribute"),
        domain=node.text(7),
    )


def _attribute(data: Message) -> tuple[str, Attribute]:
    attribute = MessageFields(data, ATTRIBUTE, what="an attribute")
    name, field = attribute.text(1), ATTRIBUTE_FIELDS.get(attribute.number(20))
    if field is None or [other for other in ATTRIBUTE_FIELDS.values() if attribute.has(other)] != [field]:
        raise GraphNotUnderstood(f"an attribute '{name}' of an unsupported type")
    if field == 3:
        return name, attribute.number(3)
    return name, attribute.text(4) if field == 4 else attribute.numbers(8)


def _tensor(data: Message) -> tuple[str, npt.NDArray[Any]]:
    tensor = MessageFields(data, TENSOR, what="a constant")
    name, shape = tensor.text(8), tensor.numbers(1)
    if tensor.has(14) and tensor.number(14) != 0:
        raise GraphNotUnderstood(f"the values of the constant '{name}' are not stored in it as raw bytes")
    try:
        if any(size < 0 for size in shape):
            raise ValueError(f"its shape is {shape}")
        return name, np.frombuffer(tensor.message(9), dtype=_dtype(tensor.number(2))).reshape(shape)
    except ValueError as error:
        raise GraphNotUnderstood(f"the constant '{name}' is not an array: {error}") from None


def _dtype(kind: int) -> str:
    if kind not in DTYPES:
        raise GraphNotUnderstood(f"numbers of the unsupported type {kind}")
    return DTYPES[kind]


class MessageFields:
    """The fields of one message, all of them known, and those that are not repeated there once at most."""

    def __init__(self, data: Message, known: Mapping[int, str], *, what: str) -> None:
        """Raises GraphNotUnderstood."""
        self._found: dict[int, list[int | Message]] = {}
        for number, wire, value in wire_fields(data):
            kind = known.get(number)
            if kind is None or wire not in WIRES[kind]:
                raise GraphNotUnderstood(f"{what} has a field {number} that our exports do not write")
            if number in self._found and kind not in REPEATED:
                raise GraphNotUnderstood(f"{what} has its field {number} twice")
            self._found.setdefault(number, []).append(value)

    def has(self, field: int) -> bool:
        return field in self._found

    def number(self, field: int) -> int:
        """A number that is not repeated; 0 if it is not there."""
        (value,) = self._found.get(field, [0])
        assert isinstance(value, int)
        return _signed(value)

    def numbers(self, field: int) -> list[int]:
        """Those of a repeated field, one by one or packed."""
        return [number for value in self._found.get(field, []) for number in _integers(value)]

    def message(self, field: int) -> Message:
        """The bytes of a field that is not repeated; none if it is not there."""
        (value,) = self._found.get(field, [memoryview(b"")])
        assert isinstance(value, memoryview)
        return value

    def messages(self, field: int) -> list[Message]:
        """The bytes of each of a repeated field."""
        return [value for value in self._found.get(field, []) if isinstance(value, memoryview)]

    def text(self, field: int) -> str:
        """A text that is not repeated; an empty one if it is not there."""
        return _text(self.message(field))


def wire_fields(data: Message) -> Iterator[tuple[int, int, int | Message]]:
    """Number, wire type and value of each field of a message: an int for a varint, else bytes.

    Raises GraphNotUnderstood.
    """
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        number, wire = tag >> 3, tag & 7
        if tag >> 32:  # other readers would drop the upper bits, and see another field
            raise GraphNotUnderstood("a field with a number of more than 32 bits")
        if wire in FIXED_SIZES:
            size = FIXED_SIZES[wire]
        elif wire in (VARINT, BLOCK):
            size, place = _varint(data, place)
        else:
            raise GraphNotUnderstood(f"a field of the unsupported wire type {wire}")
        if wire == VARINT:
            yield number, wire, size
            continue
        if place + size > end:
            raise GraphNotUnderstood("it ends in the middle of a field")
        yield number, wire, data[place : place + size]
        place += size


def _varint(data: Message, place: int) -> tuple[int, int]:
    """An integer, seven bits per byte and the lowest first, and the position after it."""
    number = 0
    for step, byte in enumerate(data[place : place + LONGEST_NUMBER]):
        number |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            if number >> 64:
                break
            return number, place + step + 1
    raise GraphNotUnderstood("it ends in the middle of a number, or one has more than 64 bits")


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


def _text(value: Message) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise GraphNotUnderstood("a name that is not UTF-8") from None
