"""A teacher's answers by content key: one Arrow file, sorted by key and memory-mapped for reading."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.mapped import Matrix, list_column, map_table
from limbeck.artifacts.rows import KEY_BYTES

Keys = npt.NDArray[np.uint64]  # (rows, 2), as limbeck.artifacts.rows.content_keys gives them
Logits = npt.NDArray[np.float32]  # (rows, classes)
Features = npt.NDArray[np.float16]  # (rows, width)
ROWS_AT_ONCE = 1 << 16  # keys per lookup
ROWS_PER_SORT = 1 << 16


@dataclass(frozen=True)
class AnswerTable:
    """A teacher's answers: keys in ascending order and, for each key, logits and possibly features."""

    keys: Keys
    logits: Logits
    features: Features | None = None

    @classmethod
    def open(cls, path: Path) -> "AnswerTable":
        """Views of the file; nothing is copied. Raises pa.ArrowInvalid, KeyError or ValueError if it is not one."""
        table = map_table(path).table
        binary = table["key"].combine_chunks()
        if binary.type != pa.binary(KEY_BYTES):
            raise ValueError(f"keys of {binary.type}")
        start = 2 * binary.offset
        words = np.frombuffer(binary.buffers()[1] or b"", dtype="<u8")[start : start + 2 * len(binary)]
        features = Matrix(table["features"], dtype=np.float16).read_all() if "features" in table.column_names else None
        return cls(words.reshape(-1, 2), Matrix(table["logits"], dtype=np.float32).read_all(), features)

    def __len__(self) -> int:
        return len(self.keys)


def write_answers(path: Path, *, keys: Keys, logits: Logits, features: Features | None = None) -> None:
    """Write answers given in any order. Of equal keys, a lookup finds the one that was given first."""
    with pa.OSFile(str(path), "wb") as sink:
        _write(sink, keys, logits, features)


def answers_in_bytes(keys: Keys, logits: Logits, features: Features | None = None) -> pa.Buffer:
    """The bytes that `write_answers` writes to a file."""
    with pa.BufferOutputStream() as sink:
        _write(sink, keys, logits, features)
        return sink.getvalue()


def _write(sink: pa.NativeFile, keys: Keys, logits: Logits, features: Features | None) -> None:
    order = key_order(keys)
    content = pa.py_buffer(np.ascontiguousarray(keys[order], dtype="<u8"))
    columns = {
        "key": pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), len(keys), [None, content]),
        "logits": list_column(logits[order].astype(np.float32, copy=False)),
    }
    if features is not None:
        columns["features"] = list_column(features[order].astype(np.float16, copy=False))
    table = pa.table(columns)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def find_keys(known: Keys, wanted: Keys, *, order: npt.NDArray[np.uint32] | None = None) -> npt.NDArray[np.int64]:
    """Position of every wanted key among the known ones, -1 if it is missing; the first of several equal ones.

    Known keys are in ascending order, or `order` (see key_order) is the order that sorts them. Both halves of a key are
    compared: two texts may share the first 64 bits. The known keys are not copied.
    """
    found = np.empty(len(wanted), dtype=np.int64)
    for start in range(0, len(wanted), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        found[piece] = _find(known, wanted[piece], order)
    return found


def _find(known: Keys, wanted: Keys, order: npt.NDArray[np.uint32] | None) -> npt.NDArray[np.int64]:
    """Binary search for all wanted keys at once: each step halves the range of every one of them."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    low, high = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), len(known), dtype=np.int64)
    for _ in range(len(known).bit_length()):
        middle = np.minimum((low + high) >> 1, len(known) - 1)
        at = known[middle if order is None else order[middle]]
        is_before = (at[:, 0] < wanted[:, 0]) | ((at[:, 0] == wanted[:, 0]) & (at[:, 1] < wanted[:, 1]))
        is_open = low < high
        low = np.where(is_open & is_before, middle + 1, low)
        high = np.where(is_open & ~is_before, middle, high)
    place = np.minimum(low, len(known) - 1)
    place = place if order is None else order[place].astype(np.int64)
    return np.where((known[place] == wanted).all(axis=1), place, -1)


def key_order(keys: Keys) -> npt.NDArray[np.uint32]:
    """Positions in ascending order of the keys; equal keys keep their order.

    Sorts one range of keys after the other: sorting all at once would need as much memory again as the keys take.
    Keys are hashes, so the ranges are about equally large.
    """
    parts = min(1 + len(keys) // ROWS_PER_SORT, 256)
    order = np.empty(len(keys), dtype=np.uint32)
    part_of = np.empty(len(keys), dtype=np.uint8)
    for start in range(0, len(keys), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        part_of[piece] = ((keys[piece, 0] >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)
    done = 0
    for part in range(parts):
        members = np.flatnonzero(part_of == part)
        inside = keys[members]
        order[done : done + len(members)] = members[np.lexsort((inside[:, 1], inside[:, 0]))]
        done += len(members)
    return order
