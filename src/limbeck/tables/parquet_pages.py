"""What the pages of a parquet file claim to unpack to, read from their headers before pyarrow allocates any of it.

A page header is a struct in Thrift's compact protocol. A few kilobytes can claim, and hold, gigabytes: zeros that were
packed, or one long text in a dictionary that every row repeats.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from limbeck.tables.unpacking import is_bomb, unpacks_to_too_much

HEADER_BYTES = (1 << 13, 1 << 20)  # looked at: enough for most headers, and for those with long statistics
CHUNK_SLACK = 100  # bytes behind a chunk that some writers forgot to count
DICTIONARY, DELTA_PREFIXES = 2, 7  # a type of page, and an encoding
ROW_BYTES = 64  # that a row takes in memory, even if it is one bit in the file
BATCH_BYTES = 1 << 26
# Numbers of fields in a page header, and those of the encoding in its parts.
TYPE, UNPACKED, PACKED = 1, 2, 3
PARTS = {5: 2, 8: 4}  # of a data page, in two versions


@dataclass(frozen=True)
class Page:
    """One page: how many bytes it has in the file with its header, and unpacked; whether values repeat parts of it."""

    bytes: int
    unpacked: int
    repeats: bool


class HeaderDamaged(ValueError):
    """Bytes that are no page header."""


def refuse_claims(path: Path, file: BinaryIO, metadata: Any, columns: Sequence[int]) -> int:
    """How many rows may be read at once, so that they fit into memory even if all hold the longest value.

    Raises FileUnreadable if the pages of these columns unpack to far more than the file could hold, and HeaderDamaged.
    """
    size = file.seek(0, 2)
    unpacked, longest = 0, 1
    for group in range(metadata.num_row_groups):
        for column in columns:
            for page in _pages(file, metadata.row_group(group).column(column), size=size):
                unpacked += page.unpacked
                longest = max(longest, page.unpacked if page.repeats else 1)
                if is_bomb(unpacked, packed=size):
                    raise unpacks_to_too_much(path, packed=size, kind="parquet")
    if is_bomb(ROW_BYTES * metadata.num_rows, packed=size):
        raise unpacks_to_too_much(path, packed=size, kind="parquet")
    return max(1, BATCH_BYTES // longest)


def _pages(file: BinaryIO, chunk: Any, *, size: int) -> Iterator[Page]:
    """The pages of a column in a row group."""
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset if chunk.has_dictionary_page else None]
    at = min((start for start in starts if start), default=size)  # a column without values may have no page
    end = min(size, at + chunk.total_compressed_size + CHUNK_SLACK)
    values = 0
    while at < end and values < chunk.num_values:
        fields, length = _header(file, at)
        page = Page(length + fields[PACKED], fields[UNPACKED], _repeats(fields))
        if page.unpacked < 0 or fields[PACKED] < 0:
            raise HeaderDamaged("a page has a negative size")
        yield page
        values += next((fields[part][1] for part in PARTS if part in fields), 0)
        at += page.bytes


def _repeats(fields: dict[int, Any]) -> bool:
    """Whether a value may be longer than its share of the page: from a dictionary, or as a prefix of others."""
    encodings = [fields[part].get(number) for part, number in PARTS.items() if part in fields]
    return fields[TYPE] == DICTIONARY or DELTA_PREFIXES in encodings


def _header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    """The fields of the header there, and its length."""
    for window in HEADER_BYTES:
        file.seek(at)
        reader = _Compact(file.read(window))
        try:
            fields = reader.struct()
        except IndexError:
            continue
        if not _is_header(fields):
            break
        return fields, reader.at
    raise HeaderDamaged("the header of a page cannot be read")


def _is_header(fields: dict[int, Any]) -> bool:
    parts = [fields[part] for part in PARTS if part in fields]
    numbers = [*(fields.get(number) for number in (TYPE, UNPACKED, PACKED)), *(_values_of(part) for part in parts)]
    return all(type(number) is int for number in numbers)


def _values_of(part: Any) -> Any:
    return part.get(1) if isinstance(part, dict) else None


def _refuse_depth(depth: int) -> None:
    if depth > 8:
        raise HeaderDamaged("the header of a page is nested too deeply")


class _Compact:
    """Reads structs of Thrift's compact protocol; IndexError where the bytes end."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def struct(self, *, depth: int = 0) -> dict[int, Any]:
        """By number, its whole numbers and structs; other fields are skipped."""
        _refuse_depth(depth)
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._value(head & 15, depth=depth)
        return fields

    def _value(self, kind: int, *, depth: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._zigzag()
            case 7:
                return self._skip(8)
            case 8:
                return self._skip(self._varint())
            case 9 | 10:
                return self._list(depth=depth)
            case 12:
                return self.struct(depth=depth + 1)
            case _:
                raise HeaderDamaged("the header of a page holds an unknown type")

    def _list(self, *, depth: int) -> None:
        _refuse_depth(depth)
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4
        for _ in range(count):
            self._value(3 if head & 15 in (1, 2) else head & 15, depth=depth + 1)

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self._data):
            raise IndexError

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise HeaderDamaged("a number in the header of a page is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
