"""Rows: an id, a text, possibly a second text, possibly a label; stored as one Arrow table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from limbeck.artifacts.mapped import MappedTable, map_table, read_texts, take_rows
from limbeck.text.folding import folded

NO_LABEL = -1
FIRST_UNKNOWN = -2  # this and lower numbers: labels of test rows that no training row has, so that none is predicted
KEY_BYTES = 16
ROWS_PER_SLICE = 1 << 14


class Rows:
    """A table of rows in a fixed order. Ids are unique within a run; texts need not be."""

    def __init__(self, table: pa.Table, *, file: MappedTable | None = None) -> None:
        self.table = table
        self._file = file

    @classmethod
    def of(
        cls,
        *,
        ids: Sequence[str],
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        labels: Sequence[int] | npt.NDArray[Any] | None = None,
    ) -> "Rows":
        """Rows from columns of equal length; labels of multi-label rows are (rows, classes) of 0 and 1, scores are
        floating-point numbers in standard units."""
        columns = {"id": pa.array(ids, pa.string()), "text": pa.array(texts, pa.large_string())}
        if pairs is not None:
            columns["pair"] = pa.array(pairs, pa.large_string())
        numbers = np.full(len(ids), NO_LABEL) if labels is None else np.asarray(labels)
        kind = pa.float64() if numbers.dtype.kind == "f" else pa.int32()
        columns["label"] = _label_sets(numbers) if numbers.ndim == 2 else pa.array(numbers, kind)
        return cls(pa.table(columns))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> list[str]:
        """The row ids."""
        return list(self.table["id"].to_pylist())

    @cached_property
    def texts(self) -> list[str]:
        """The texts."""
        return list(self.table["text"].to_pylist())

    @cached_property
    def pairs(self) -> list[str] | None:
        """The second texts, or None for a corpus of single texts."""
        return list(self.table["pair"].to_pylist()) if "pair" in self.table.column_names else None

    @cached_property
    def labels(self) -> npt.NDArray[Any]:
        """(rows) class numbers; multi-label: (rows, classes) of 0 and 1. NO_LABEL if a row has no label. Scores are
        floating-point numbers in standard units (limbeck.artifacts.score_scale), NaN if a row has none.

        In test, FIRST_UNKNOWN and below: labels that train does not have, see `Corpus.unknown_labels`.
        """
        column = self.table["label"].combine_chunks()
        if pa.types.is_fixed_size_list(column.type):
            return np.asarray(column.flatten().to_numpy(), dtype=np.int64).reshape(-1, column.type.list_size)
        if pa.types.is_floating(column.type):
            return np.asarray(column.to_numpy(), dtype=np.float64)
        return np.asarray(column.to_numpy(), dtype=np.int64)

    @property
    def is_labelled(self) -> npt.NDArray[np.bool_]:
        """(rows): whether a row has a label."""
        if self.labels.dtype.kind == "f":
            return np.asarray(~np.isnan(self.labels))
        known = self.labels != NO_LABEL
        return known if known.ndim == 1 else np.asarray(known.all(axis=1))

    @cached_property
    def keys(self) -> npt.NDArray[np.uint64]:
        """(rows, 2): the content key of every row."""
        keys = np.empty((len(self), 2), dtype=np.uint64)
        done = 0
        for part in self.slices(ROWS_PER_SLICE):
            keys[done : done + len(part)] = content_keys(part.texts, part.pairs)
            done += len(part)
        return keys

    @property
    def characters(self) -> npt.NDArray[np.int64]:
        """(rows): characters of the text, plus those of the second text."""
        lengths = np.zeros(len(self), dtype=np.int64)
        for name in ("text", "pair") if self.is_pair else ("text",):
            lengths += pc.utf8_length(self.table[name]).to_numpy()
        return lengths

    def select(self, positions: Sequence[int] | npt.NDArray[np.integer[Any]]) -> "Rows":
        """The rows at these positions, in this order."""
        return Rows(take_rows(self.table, positions))

    def texts_at(self, positions: npt.NDArray[np.integer[Any]]) -> tuple[list[str], list[str] | None]:
        """Texts and second texts at these positions; nothing else is read from the file."""
        return self._at("text", positions), self._at("pair", positions) if self.is_pair else None

    def _at(self, name: str, positions: npt.NDArray[np.integer[Any]]) -> list[str]:
        if self._file is not None:
            return read_texts(self._file, name, positions)
        return list(take_rows(self.table.select([name]), positions)[name].to_pylist())

    def slices(self, size: int) -> Iterator["Rows"]:
        """The rows in order, `size` at a time; nothing is copied, and the memory of a finished slice is released."""
        for start in range(0, len(self), size):
            yield Rows(self.table.slice(start, size))
            self.release()

    def release(self) -> None:
        """Release the memory of the pages read so far, if the rows come from a file; see MappedTable."""
        if self._file is not None:
            self._file.release()

    @property
    def is_pair(self) -> bool:
        """Whether a row has two texts."""
        return "pair" in self.table.column_names

    def save(self, path: Path) -> None:
        """Write them as an Arrow file."""
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, self.table.schema) as writer:
            writer.write_table(self.table)

    @classmethod
    def load(cls, path: Path) -> "Rows":
        """Read them back, memory-mapped."""
        file = map_table(path)
        return cls(file.table, file=file)


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of several tables, one after the other. Unlabelled rows can be joined with rows of any label type."""
    if any(pa.types.is_floating(part.table["label"].type) for part in parts):
        return Rows(pa.concat_tables([_with_scores(part.table) for part in parts]))
    widths = [kind.list_size for part in parts if pa.types.is_fixed_size_list(kind := part.table["label"].type)]
    return Rows(pa.concat_tables([_with_label_sets(part.table, max(widths, default=0)) for part in parts]))


def _with_label_sets(table: pa.Table, width: int) -> pa.Table:
    """The table with a multi-label column of this width, as the other tables have; its rows have no labels."""
    if not width or pa.types.is_fixed_size_list(table["label"].type):
        return table
    sets = _label_sets(np.full((table.num_rows, width), NO_LABEL))
    return table.set_column(table.column_names.index("label"), "label", sets)


def _with_scores(table: pa.Table) -> pa.Table:
    """The table with a column of scores, as the other tables have; if it has another one, its rows have no scores."""
    if pa.types.is_floating(table["label"].type):
        return table
    none = pa.array(np.full(table.num_rows, np.nan), pa.float64())
    return table.set_column(table.column_names.index("label"), "label", none)


def _label_sets(matrix: npt.NDArray[np.integer[Any]]) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.astype(np.int8).reshape(-1)), matrix.shape[1])


def content_keys(texts: Sequence[str], pairs: Sequence[str] | None = None) -> npt.NDArray[np.uint64]:
    """(rows, 2): blake2b of text and second text, as two 64-bit numbers. Equal texts have equal keys."""
    if pairs is None:
        digests = [content_key(text) for text in texts]
    else:
        digests = [content_key(text, pair) for text, pair in zip(texts, pairs, strict=True)]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


def content_key(text: str, pair: str | None = None) -> bytes:
    """Hash of text and second text. The text's length goes first, so that ("ab", "c") and ("a", "bc") differ."""
    body = text.encode("utf-8", "surrogatepass")
    digest = blake2b(len(body).to_bytes(8, "little") + body, digest_size=KEY_BYTES)
    if pair is not None:
        digest.update(b"\x01" + pair.encode("utf-8", "surrogatepass"))
    return digest.digest()


def folded_key(text: str, pair: str | None = None) -> bytes:
    """A hash that is equal for texts that differ only in case, white space or character width."""
    return content_key(folded(text), None if pair is None else folded(pair))


def draw_order(seed: int, row_id: str) -> bytes:
    """The sort key of a row in the seeded random order."""
    return blake2b(f"{seed}:{row_id}".encode(), digest_size=16).digest()


FEW_OF_A_CLASS = 8  # rows of each that `some_of_every_class` keeps, where it can


def some_of_every_class(rows: Rows, *, most: int | None, seed: int) -> Rows:
    """At most so many of the rows, in their order: the first ones drawn of every class, then the first ones of all."""
    if most is None or most >= len(rows):
        return rows
    drawn = sorted(range(len(rows)), key=lambda at: draw_order(seed, rows.ids[at]))
    seen: Counter[bytes] = Counter()
    later = []  # whether a row is not among the first of its class, in the order of the draw
    for at in drawn:
        label = rows.labels[at].tobytes()
        seen[label] += 1
        later.append(seen[label] > FEW_OF_A_CLASS)
    order = np.array(drawn)[np.argsort(later, kind="stable")]
    return rows.select(np.sort(order[:most]))


def runtime_rows(rows: Rows) -> list[str | tuple[str, str]]:
    """The rows as a classifier expects them: texts, or pairs of texts."""
    return list(rows.texts) if rows.pairs is None else list(zip(rows.texts, rows.pairs, strict=True))
