"""Which rows have the same text: 20 bytes per row, the only memory of this room that grows with the rows; for very many
rows they are in files."""

import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import ROWS_AT_ONCE, Keys, find_keys, key_order
from limbeck.artifacts.key_file import KeyFile, records_of, write_key_file
from limbeck.artifacts.rows import ROWS_PER_SLICE, Rows, content_keys

RowNumbers = npt.NDArray[np.uint32]  # rows are numbered across all splits, in the order of the splits
ROWS_IN_MEMORY = 1 << 26  # 67 million: with the places of their labels, 1.9 GB


class TextIndex:
    """The rows of all splits, and their content keys in ascending order.

    With more rows than ROWS_IN_MEMORY, keys and their order are in files under `folder`, which end with this object.
    """

    def __init__(self, splits: Mapping[str, Rows], *, folder: Path | None = None) -> None:
        self.splits = dict(splits)
        self.ends = np.cumsum([len(rows) for rows in splits.values()], dtype=np.int64)
        self._folder = _scratch(self, folder) if folder and len(self) > ROWS_IN_MEMORY else None
        self.keys: Keys = self.column((len(self), 2), np.uint64)
        for start, part in self.slices():
            self.keys[start : start + len(part)] = content_keys(part.texts, part.pairs)
        self._sorted: KeyFile | None = None
        if self._folder is None:
            self._order = key_order(self.keys)
        else:
            self._sorted = write_key_file(self._folder / "rows", self._records(), facts={}, keeps_equal=True)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def column(self, shape: int | tuple[int, ...], dtype: Any, *, fill: int = 0) -> npt.NDArray[Any]:
        """A number, or some, for each row: in memory, or in a file if the index is."""
        if self._folder is None:
            return np.full(shape, fill, dtype=dtype)
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
            column = np.memmap(file.name, dtype=dtype, mode="w+", shape=shape)
        if fill:
            column[:] = fill
        return column

    def slices(self, size: int = ROWS_PER_SLICE) -> Iterator[tuple[int, Rows]]:
        """(number of its first row, rows) of each slice in order; a slice never crosses the border of a split."""
        start = 0
        for rows in self.splits.values():
            for part in rows.slices(size):
                yield start, part
                start += len(part)

    def span(self, split: str) -> slice:
        """The row numbers of a split."""
        position = list(self.splits).index(split)
        end = int(self.ends[position])
        return slice(end - len(self.splits[split]), end)

    def find(self, keys: Keys) -> npt.NDArray[np.int64]:
        """The first row whose text has this key, -1 if no row has it."""
        if self._sorted is None:
            return find_keys(self.keys, keys, order=self._order)
        places, rows, _ = self._sorted.find(keys)
        return np.where(places >= 0, rows.astype(np.int64), -1)

    def alike(self) -> Iterator[tuple[RowNumbers, RowNumbers]]:
        """(rows, the first row with the same text for each), in pieces; every row comes exactly once.

        Rows with the same text are consecutive, in ascending order.
        """
        last_key, first = None, np.uint32(0)
        for rows, keys in self._in_order():
            is_new = np.ones(len(rows), dtype=np.bool_)
            is_new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
            if last_key is not None:
                is_new[0] = bool((keys[0] != last_key).any())
            latest = np.maximum.accumulate(np.where(is_new, np.arange(len(rows)), -1))
            firsts = np.where(latest >= 0, rows[latest], first)
            yield rows, firsts
            last_key, first = keys[-1], firsts[-1]

    def _in_order(self) -> Iterator[tuple[RowNumbers, Keys]]:
        """(rows, their keys) in the order of the keys, in pieces."""
        if self._sorted is not None:
            for piece in self._sorted.pieces():
                yield piece["first"], np.stack([piece["high"], piece["low"]], axis=1)
            return
        for start in range(0, len(self), ROWS_AT_ONCE):
            rows = self._order[start : start + ROWS_AT_ONCE]
            yield rows, self.keys[rows]

    def _records(self) -> Iterator[npt.NDArray[np.void]]:
        for start in range(0, len(self), ROWS_AT_ONCE):
            keys = self.keys[start : start + ROWS_AT_ONCE]
            yield records_of(keys, np.arange(start, start + len(keys), dtype=np.uint32), 0)

    def distinct_texts(self) -> tuple[int, dict[str, int]]:
        """The number of distinct texts in total, and in each split."""
        total, by_split = 0, np.zeros(len(self.splits), dtype=np.int64)
        last_split = -1
        for rows, firsts in self.alike():
            is_first = rows == firsts
            split = np.searchsorted(self.ends, rows, side="right")
            before = np.concatenate([[last_split], split[:-1]])
            by_split += np.bincount(split[is_first | (split != before)], minlength=len(self.splits))
            total, last_split = total + int(is_first.sum()), int(split[-1])
        return total, dict(zip(self.splits, by_split.tolist(), strict=True))

    def texts_of(self, rows: npt.NDArray[np.int64]) -> tuple[list[str], list[str] | None]:
        """Texts and second texts of these rows, in this order. Nothing else is read."""
        texts, pairs = np.empty(len(rows), dtype=object), np.empty(len(rows), dtype=object)
        for name, part in self.splits.items():
            span = self.span(name)
            inside = np.flatnonzero((rows >= span.start) & (rows < span.stop))
            texts[inside], seconds = part.texts_at(rows[inside] - span.start)
            if seconds is not None:
                pairs[inside] = seconds
        return texts.tolist(), pairs.tolist() if any(part.is_pair for part in self.splits.values()) else None

    def ids_of(self, rows: npt.NDArray[np.int64]) -> list[str]:
        """Ids of these rows, which are in ascending order."""
        spans = [(part, self.span(name)) for name, part in self.splits.items()]
        inside = [(part, rows[(rows >= span.start) & (rows < span.stop)] - span.start) for part, span in spans]
        return [row_id for part, positions in inside for row_id in part.select(positions).ids]


def _scratch(owner: object, folder: Path) -> Path:
    """A folder of its own, removed with its owner."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.TemporaryDirectory(dir=folder, prefix=".index-", ignore_cleanup_errors=True)
    weakref.finalize(owner, partial(scratch.cleanup))
    return Path(scratch.name)
