"""Tensors of the Open Inference Protocol: texts in, labels and numbers out, as JSON or as binary data."""

import struct
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from limbeck.serving.limits import Limits
from limbeck.serving.wire.questions import Floats
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.wire.rows import NO_LIST, NO_TEXT, parameters_of, refuse_too_long, refuse_too_many, whole

HEADER = "inference-header-content-length"  # of the JSON, where binary data follows
MOST_DIMENSIONS = 2
LENGTH = struct.Struct("<I")  # of an element, before its bytes


@dataclass(frozen=True)
class TextTensor:
    """Texts and their shape: (rows) or (rows, texts of a row)."""

    name: str
    shape: tuple[int, ...]
    texts: list[str]


class BinaryData:
    """The bytes after the JSON; tensors take theirs from the front, in their order."""

    def __init__(self, data: bytes | None) -> None:
        """None: the request does not say that there are any."""
        self._is_there, self._data, self._at = data is not None, data or b"", 0

    def take(self, size: Any, place: str) -> bytes:
        """The next bytes. Raises Refused if there are fewer."""
        if not self._is_there:
            raise Refused(422, f"{place}: binary data needs the header '{HEADER}', which is missing")
        count = whole(size)
        if count is None or count < 0:
            raise Refused(422, f"{place}.parameters.binary_data_size: Input should be a whole number of 0 or more")
        if count > self.left:
            raise Refused(422, f"{place}: more bytes are announced than the {self.left:,} that follow")
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]

    @property
    def left(self) -> int:
        """How many bytes nobody took."""
        return len(self._data) - self._at


def text_tensor(found: Any, *, place: str, binary: BinaryData, limits: Limits) -> TextTensor:
    """An input of the request. Raises Refused."""
    if not isinstance(found, dict):
        raise Refused(422, f"{place}: Input should be an object with the keys 'name', 'shape', 'datatype' and 'data'")
    name = found.get("name")
    if not isinstance(name, str):
        raise Refused(422, f"{place}.name: {NO_TEXT}")
    if found.get("datatype") != "BYTES":
        raise Refused(422, f"{place}.datatype: texts are sent as 'BYTES'")
    shape = _shape(found.get("shape"), place)
    refuse_too_many(shape[0], limits)
    texts = _texts(found, shape, place=place, binary=binary)
    for number, text in enumerate(texts):
        refuse_too_long(text, f"{place}.data[{number}]", limits)
    return TextTensor(name=name, shape=shape, texts=texts)


def _shape(found: Any, place: str) -> tuple[int, ...]:
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_DIMENSIONS:
        raise Refused(422, f"{place}.shape: Input should be [rows] or [rows, texts of a row]")
    sizes = tuple(size for size in map(whole, found) if size is not None and size >= 0)
    if len(sizes) < len(found):
        raise Refused(422, f"{place}.shape: Input should be whole numbers of 0 or more")
    if len(sizes) == MOST_DIMENSIONS and sizes[1] not in (1, 2):
        raise Refused(422, f"{place}.shape: a row has one text or two")
    return sizes


def _texts(found: dict[str, Any], shape: tuple[int, ...], *, place: str, binary: BinaryData) -> list[str]:
    parameters = parameters_of(found, place)
    count = int(np.prod(shape))
    if "binary_data_size" in parameters:
        if "data" in found:
            raise Refused(422, f"{place}: give either 'data' or 'binary_data_size'")
        texts = _binary_texts(binary.take(parameters["binary_data_size"], place), place, most=count)
    else:
        texts = _json_texts(found.get("data"), place)
    if len(texts) != count:
        raise Refused(422, f"{place}: the shape is for {count:,} texts, but there are {len(texts):,}")
    return texts


def _json_texts(data: Any, place: str) -> list[str]:
    """The elements of `data`, which may be flat or have a list per row."""
    if not isinstance(data, list):
        raise Refused(422, f"{place}.data: {NO_LIST}")
    if all(isinstance(row, list) for row in data):
        data = list(chain.from_iterable(data))
    texts: list[str] = data
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise Refused(422, f"{place}.data[{number}]: {NO_TEXT}")
    return texts


def _binary_texts(data: bytes, place: str, *, most: int) -> list[str]:
    texts: list[str] = []
    at = 0
    while at < len(data) and len(texts) <= most:
        start = at + LENGTH.size
        if start > len(data) or start + LENGTH.unpack_from(data, at)[0] > len(data):
            raise Refused(422, f"{place}: its binary data ends in the middle of text {len(texts):,}")
        at = start + LENGTH.unpack_from(data, at)[0]
        texts.append(_text(data[start:at], f"{place}.data[{len(texts)}]"))
    return texts


def _text(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(422, f"{place} is not UTF-8 at byte {error.start:,}") from error


def floats_output(name: str, values: Floats, *, binary: bool) -> tuple[dict[str, Any], bytes]:
    """Numbers as an output, and its binary data."""
    data = np.ascontiguousarray(values, dtype="<f4").tobytes() if binary else b""
    return _output(name, "FP32", list(values.shape), binary, data, [] if binary else values.ravel().tolist()), data


def texts_output(name: str, texts: list[str], *, binary: bool) -> tuple[dict[str, Any], bytes]:
    """Texts as an output, and its binary data."""
    encoded = [text.encode("utf-8", "replace") for text in texts] if binary else []
    data = b"".join(LENGTH.pack(len(text)) + text for text in encoded)
    return _output(name, "BYTES", [len(texts)], binary, data, texts), data


def _output(
    name: str, datatype: Literal["FP32", "BYTES"], shape: list[int], binary: bool, data: bytes, values: list[Any]
) -> dict[str, Any]:
    described = {"name": name, "datatype": datatype, "shape": shape}
    return described | ({"parameters": {"binary_data_size": len(data)}} if binary else {"data": values})
