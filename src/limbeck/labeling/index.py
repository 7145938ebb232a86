"""Which rows have the same text: 20 bytes per row, the only memory of this room that grows with the rows."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.answers import ROWS_AT_ONCE, Keys, find_keys, key_order
from limbeck.artifacts.rows import ROWS_PER_SLICE, Rows, content_keys

RowNumbers = npt.NDArray[np.uint32]  # rows are numbered across all splits, in the order of the splits


class TextIndex:
    """The rows of all splits, and their content keys in ascending order."""

    def __init__(self, splits: Mapping[str, Rows]) -> None:
        self.splits = dict(splits)
        self.ends = np.cumsum([len(rows) for rows in splits.values()], dtype=np.int64)
        self.keys: Keys = np.empty((len(self), 2), dtype=np.uint64)
        for start, part in self.slices():
            self.keys[start : start + len(part)] = content_keys(part.texts, part.pairs)
        self._order = key_order(self.keys)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

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
        return find_keys(self.keys, keys, order=self._order)

    def alike(self) -> Iterator[tuple[RowNumbers, RowNumbers]]:
        """(rows, the first row with the same text for each), in pieces; every row comes exactly once.

        Rows with the same text are consecutive, in ascending order.
        """
        last_key, first = None, np.uint32(0)
        for start in range(0, len(self), ROWS_AT_ONCE):
            rows = self._order[start : start + ROWS_AT_ONCE]
            keys = self.keys[rows]
            is_new = np.ones(len(rows), dtype=np.bool_)
            is_new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
            if last_key is not None:
                is_new[0] = bool((keys[0] != last_key).any())
            latest = np.maximum.accumulate(np.where(is_new, np.arange(len(rows)), -1))
            firsts = np.where(latest >= 0, rows[latest], first)
            yield rows, firsts
            last_key, first = keys[-1], firsts[-1]

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
