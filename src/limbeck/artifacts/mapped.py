"""Memory-mapped Arrow files: columns are views of the file, and pages are released after reading."""

import mmap
import os
import struct
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


@dataclass(frozen=True)
class MappedTable:
    """A table whose columns are views of a file."""

    table: pa.Table
    region: mmap.mmap
    handle: int  # of the open file

    def release(self) -> None:
        """Release the memory of all pages read so far; they are read from the file again when needed.

        Without this, the pages that were read count as this process's memory until others need the space.
        """
        release_pages(self.region)

    def bytes_at(self, place: int, count: int) -> bytes:
        """A part of the file, read from it without the map; Windows can read at a place in no other way."""
        if not hasattr(os, "pread"):
            return self.region[place : place + count]
        return os.pread(self.handle, count, place)


def release_pages(region: mmap.mmap) -> None:
    """Release the memory of the pages of a map that were read. Windows has no such call, and does it by itself."""
    if hasattr(region, "madvise"):
        region.madvise(mmap.MADV_DONTNEED)


def map_table(path: Path) -> MappedTable:
    """The Arrow file, of which nothing is read yet. Raises pa.ArrowInvalid if it is not one."""
    handle = os.open(path, os.O_RDONLY)
    try:
        if not os.fstat(handle).st_size:
            raise pa.ArrowInvalid(f"{path} is empty")
        region = mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
        mapped = MappedTable(pa.ipc.open_file(pa.BufferReader(pa.py_buffer(region))).read_all(), region, handle)
    except BaseException:
        os.close(handle)
        raise
    weakref.finalize(mapped, os.close, handle)
    return mapped


def read_texts(file: MappedTable, name: str, positions: npt.NDArray[np.integer[Any]]) -> list[str]:
    """Texts at any positions of a column of large strings, each read from the file by itself.

    Reading one through the map would load the part of the file around it into memory, up to two megabytes on today's
    Linux: a few hundred texts would load the whole file.
    """
    chunks = file.table[name].chunks
    ends = np.cumsum([len(chunk) for chunk in chunks], dtype=np.int64)
    origin = pa.py_buffer(file.region).address
    starts = [[buffer.address - origin for buffer in chunk.buffers()[1:]] for chunk in chunks]
    texts = []
    for position, number in zip(positions.tolist(), np.searchsorted(ends, positions, side="right"), strict=True):
        offsets, characters = starts[number]
        place = position - int(ends[number]) + len(chunks[number])
        begin, end = struct.unpack("<qq", file.bytes_at(offsets + 8 * place, 16))
        # If all texts are empty, the file has no character data, and the buffer has no address.
        texts.append(file.bytes_at(characters + begin, end - begin).decode("utf-8") if end > begin else "")
    return texts


class Matrix:
    """A column of lists of one length, as rows of numbers: a view for each chunk, read when rows are asked for."""

    def __init__(self, column: pa.ChunkedArray, *, dtype: npt.DTypeLike) -> None:
        self.width = int(column.type.list_size)
        self.dtype = np.dtype(dtype)
        self._views: list[npt.NDArray[Any]] = [
            chunk.flatten().to_numpy().astype(dtype, copy=False).reshape(-1, self.width)
            for chunk in column.chunks
            if len(chunk)
        ]
        self._ends = np.cumsum([len(view) for view in self._views], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """(places, width): these rows, in this order."""
        found = np.empty((len(places), self.width), dtype=self.dtype)
        for number, inside in _by_chunk(places, self._ends):
            view = self._views[number]
            found[inside] = view[places[inside] - (self._ends[number] - len(view))]
        return found

    def read_all(self) -> npt.NDArray[Any]:
        """(rows, width): all rows; a view if the file has them in one chunk."""
        if len(self._views) == 1:
            return self._views[0]
        return np.concatenate(self._views) if self._views else np.zeros((0, self.width), dtype=self.dtype)


def list_column(matrix: npt.NDArray[Any]) -> pa.FixedSizeListArray:
    """(rows, width) numbers as a column of lists of one length."""
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).reshape(-1)), matrix.shape[1])


def take_rows(table: pa.Table, positions: Sequence[int] | npt.NDArray[np.integer[Any]]) -> pa.Table:
    """The rows at these positions, in this order.

    Arrow itself would first copy all chunks of a column into one: here rows are taken from each chunk separately.
    """
    places = np.asarray(positions, dtype=np.int64)
    batches = table.to_batches()
    if len(batches) <= 1:
        return table.take(pa.array(places))
    ends = np.cumsum([batch.num_rows for batch in batches])
    pieces, back = [table.slice(0, 0)], np.empty(len(places), dtype=np.int64)
    done = 0
    for number, inside in _by_chunk(places, ends):
        own = places[inside] - (ends[number] - batches[number].num_rows)
        pieces.append(pa.Table.from_batches([batches[number].take(pa.array(own))]))
        back[inside] = np.arange(done, done + len(inside))
        done += len(inside)
    return pa.concat_tables(pieces).combine_chunks().take(pa.array(back))


def _by_chunk(
    places: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Chunks that have rows at these places, each with the positions in `places` of its own."""
    chunks = np.searchsorted(ends, places, side="right")
    order = np.argsort(chunks, kind="stable")
    numbers, starts = np.unique(chunks[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, starts[1:]), strict=True) if len(places) else ()
