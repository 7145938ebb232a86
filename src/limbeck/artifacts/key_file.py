"""Content keys on disk, sorted, each with two numbers: found in little memory, however many there are.

The file: records of 24 bytes (key, first, second) in ascending order of the keys; where each range of keys begins; a
JSON head; its length; MAGIC. Keys are hashes, so ranges by their first bits are about equally large.
"""

import json
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import Keys
from limbeck.artifacts.mapped import release_pages

RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("first", "<u4"), ("second", "<u4")])
MAGIC = b"limbeck-keys-1\n\0"
LENGTH_BYTES = 8
BUCKETS = 256  # files that the records are spread over while a file is built; each is then sorted in memory
RECORDS_AT_ONCE = 1 << 19  # 12 MB
WINDOW = 1 << 24  # records of a file that are mapped at a time: 400 MB
KEYS_PER_RANGE = 1024
MOST_RANGES = 1 << 20

Records = npt.NDArray[np.void]
Numbers = npt.NDArray[np.uint32]


class NotAKeyFile(ValueError):
    """The file is cut off, or something else."""


def records_of(keys: Keys, first: Numbers | int, second: Numbers | int) -> Records:
    """Keys with their two numbers, as records."""
    found = np.empty(len(keys), dtype=RECORD)
    found["high"], found["low"], found["first"], found["second"] = keys[:, 0], keys[:, 1], first, second
    return found


@dataclass
class KeyFile:
    """An opened file, of which nothing is read yet."""

    path: Path
    facts: dict[str, Any]
    records: Records = field(repr=False)
    _starts: npt.NDArray[np.int64] = field(repr=False)  # (ranges + 1)
    _region: mmap.mmap | None = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> "KeyFile":
        """Raises NotAKeyFile, or FileNotFoundError."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = _head(file, size, path)
            region = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows, ranges = int(head["rows"]), int(head["ranges"])
        starts = np.frombuffer(region, dtype="<i8", count=ranges + 1, offset=rows * RECORD.itemsize).copy()
        records = np.frombuffer(region, dtype=RECORD, count=rows)
        return cls(path, head["facts"], records, starts, region)

    def __len__(self) -> int:
        return len(self.records)

    def find(self, wanted: Keys) -> tuple[npt.NDArray[np.int64], Numbers, Numbers]:
        """(position, -1 if it is not there; first, second number) of every wanted key, the first of equal ones.

        What is read is handed back at once: the memory of this process does not grow with the file.
        """
        places = np.full(len(wanted), -1, dtype=np.int64)
        numbers = np.zeros((2, len(wanted)), dtype=np.uint32)
        order = np.argsort(wanted[:, 0], kind="stable")  # neighbours in the file are read together
        for inside in self._by_window(order, wanted):
            found = self._find(wanted[inside])
            places[inside] = found
            known = found >= 0
            for row, name in enumerate(("first", "second")):
                numbers[row, inside[known]] = self.records[name][found[known]]
            self.release()
        return places, numbers[0], numbers[1]

    def _by_window(self, order: npt.NDArray[np.int64], wanted: Keys) -> Iterator[npt.NDArray[np.int64]]:
        """The wanted keys in parts, each for one part of the file: a page that is touched may bring megabytes."""
        starts = self._starts[_range_of(wanted[order, 0], len(self._starts) - 1)]
        cuts = np.flatnonzero(np.diff(starts // WINDOW)) + 1
        for part in np.split(order, cuts):
            for start in range(0, len(part), RECORDS_AT_ONCE):
                yield part[start : start + RECORDS_AT_ONCE]

    def _find(self, wanted: Keys) -> npt.NDArray[np.int64]:
        """Binary search inside of the range of each key, for all keys at once."""
        if not len(self):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = _range_of(wanted[:, 0], len(self._starts) - 1)
        low, high = self._starts[at], self._starts[at + 1]
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = np.minimum((low + high) >> 1, len(self) - 1)
            top = self.records["high"][middle]
            is_before = (top < wanted[:, 0]) | ((top == wanted[:, 0]) & (self.records["low"][middle] < wanted[:, 1]))
            is_open = low < high
            low = np.where(is_open & is_before, middle + 1, low)
            high = np.where(is_open & ~is_before, middle, high)
        place = np.minimum(low, len(self) - 1)
        is_it = (self.records["high"][place] == wanted[:, 0]) & (self.records["low"][place] == wanted[:, 1])
        return np.where(is_it, place, -1)

    def pieces(self) -> Iterator[Records]:
        """All records, some at a time, in ascending order of the keys."""
        for start in range(0, len(self), RECORDS_AT_ONCE):
            yield self.records[start : start + RECORDS_AT_ONCE].copy()
            self.release()

    def release(self) -> None:
        """Hand the pages that were read back to the system."""
        if self._region is not None:
            release_pages(self._region)


def write_key_file(
    path: Path, records: Iterable[Records], *, facts: dict[str, Any], keeps_equal: bool = False
) -> "KeyFile":
    """Sort records that come in any order into a file, which appears when it is complete; of equal keys the one whose
    first number is lowest is kept, or with `keeps_equal` all, in the order of that number.

    Memory is that of one bucket: some bytes for each 256th record. The disk needs room for the records twice.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{uuid4().hex}.partial")
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".keys-") as folder, scratch.open("wb") as file:
            _write(file, Path(folder), records, facts=facts, keeps_equal=keeps_equal)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    return KeyFile.open(path)


def _write(
    file: BinaryIO, folder: Path, records: Iterable[Records], *, facts: dict[str, Any], keeps_equal: bool
) -> None:
    total = _spread(records, folder)
    ranges = max(1, min(MOST_RANGES, 1 << max(0, (total // KEYS_PER_RANGE).bit_length())))
    counts, rows = np.zeros(ranges, dtype=np.int64), 0
    for number in range(BUCKETS):
        bucket = folder / str(number)
        if not bucket.exists():
            continue
        found = np.fromfile(bucket, dtype=RECORD)
        bucket.unlink()
        found = _sorted(found, keeps_equal=keeps_equal)
        counts += np.bincount(_range_of(found["high"], ranges), minlength=ranges)
        found.tofile(file)
        rows += len(found)
    file.write(np.concatenate([[0], np.cumsum(counts)]).astype("<i8").tobytes())
    head = json.dumps({"rows": rows, "ranges": ranges, "facts": facts}).encode()
    file.write(head + len(head).to_bytes(LENGTH_BYTES, "little") + MAGIC)


def _spread(records: Iterable[Records], folder: Path) -> int:
    """Append each record to the file of its bucket, in the order in which they come; returns their number."""
    total = 0
    with ExitStack() as stack:
        files: dict[int, Any] = {}
        for piece in _gathered(records):
            total += len(piece)
            bucket = _range_of(piece["high"], BUCKETS)
            piece = piece[np.argsort(bucket, kind="stable")]
            ends = np.cumsum(np.bincount(bucket, minlength=BUCKETS))
            for number in np.unique(bucket).tolist():
                if number not in files:
                    files[number] = stack.enter_context((folder / str(number)).open("wb"))
                piece[ends[number - 1] if number else 0 : ends[number]].tofile(files[number])
    return total


def _gathered(records: Iterable[Records]) -> Iterator[Records]:
    """The same records in pieces of some size: each piece is written to many files."""
    waiting, count = list[Records](), 0
    for piece in records:
        for start in range(0, len(piece), RECORDS_AT_ONCE):
            waiting.append(piece[start : start + RECORDS_AT_ONCE])
            count += len(waiting[-1])
            if count >= RECORDS_AT_ONCE:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _sorted(found: Records, *, keeps_equal: bool) -> Records:
    found = found[np.lexsort((found["first"], found["low"], found["high"]))]
    if keeps_equal or len(found) < 2:
        return found
    is_new = np.ones(len(found), dtype=np.bool_)
    is_new[1:] = (found["high"][1:] != found["high"][:-1]) | (found["low"][1:] != found["low"][:-1])
    return found[is_new]


def _range_of(high: npt.NDArray[np.uint64], ranges: int) -> npt.NDArray[np.int64]:
    """The range of each key by its first 32 bits; ranges are in the order of the keys."""
    return (((high >> np.uint64(32)) * np.uint64(ranges)) >> np.uint64(32)).astype(np.int64)


def _head(file: BinaryIO, size: int, path: Path) -> dict[str, Any]:
    end = LENGTH_BYTES + len(MAGIC)
    if size < end:
        raise NotAKeyFile(str(path))
    file.seek(size - end)
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    if file.read() != MAGIC or length > size - end:
        raise NotAKeyFile(str(path))
    file.seek(size - end - length)
    try:
        head: dict[str, Any] = json.loads(file.read(length))
        expected = head["rows"] * RECORD.itemsize + 8 * (head["ranges"] + 1) + length + end
    except (ValueError, KeyError, TypeError):
        raise NotAKeyFile(str(path)) from None
    if expected != size:
        raise NotAKeyFile(str(path))
    return head
