"""Teacher labels as an artifact of a run: logits, and possibly features, by row id."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from limbeck.artifacts.manifest import fingerprint_of, read_json, read_manifest
from limbeck.artifacts.mapped import MappedTable, Matrix, list_column, map_table, take_rows
from limbeck.errors import LabelsDoNotCover

LABELS, FEATURES, FACTS, ASKING = "labels.arrow", "features.arrow", "labels.json", "asking.json"
IDS_AT_A_TIME = 1 << 16  # looked up, or read from the file, at a time
MOST_SCANS = 8  # of the whole file for one id: for a few long runs of rows that is cheaper than an index
Ids: TypeAlias = Sequence[str] | pa.Array | pa.ChunkedArray


@dataclass(frozen=True)
class TeacherLabels:
    """`labels.arrow` (id, logits), possibly features.arrow (id, features), labels.json (teacher, rows, unlabelled rows
    of each split) and asking.json (how many texts the teacher was run on, and how long it took)."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of the teacher's answers, not of how long they took."""
        files = read_manifest(self.folder, kind="labels").files
        return fingerprint_of(
            "\n".join(f"{name} {facts['blake2b']}" for name, facts in files.items() if name != ASKING)
        )

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The content of labels.json."""
        return _read_json(self.folder / FACTS)

    @cached_property
    def asking(self) -> dict[str, Any]:
        """The content of asking.json."""
        return _read_json(self.folder / ASKING)

    @property
    def has_features(self) -> bool:
        """Whether features were stored."""
        return (self.folder / FEATURES).is_file()

    @cached_property
    def _logits(self) -> "_ById":
        return _ById(map_table(self.folder / LABELS), column="logits", dtype=np.float32)

    @cached_property
    def _features(self) -> "_ById":
        return _ById(map_table(self.folder / FEATURES), column="features", dtype=np.float16)

    def covers(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """(rows): whether a row has a label."""
        return self._logits.places(ids) >= 0

    def for_rows(self, ids: Ids) -> npt.NDArray[np.float32]:
        """(rows, classes): logits in the order of `ids`. Raises if any id was never labelled."""
        return self._read(self._logits, ids)

    def if_complete(self, ids: Ids) -> npt.NDArray[np.float32] | None:
        """`for_rows`; None if an id was never labelled, or if there are none."""
        return self.for_rows(ids) if len(ids) and self.covers(ids).all() else None

    def features_for(self, ids: Ids) -> npt.NDArray[np.float16]:
        """(rows, width): features in the order of `ids`, and only those are read. Raises as `for_rows` does."""
        return self._read(self._features, ids)

    def _read(self, column: "_ById", ids: Ids) -> npt.NDArray[Any]:
        places = column.places(ids)
        if (places < 0).any():
            missing = [str(ids[row]) for row in np.flatnonzero(places < 0).tolist()]
            raise LabelsDoNotCover(labels=self.folder, missing=missing, total=len(ids))
        return column.at(places)


class _ById:
    """A column of number lists in a file, looked up by the file's id column."""

    def __init__(self, file: MappedTable, *, column: str, dtype: npt.DTypeLike) -> None:
        self._file = file
        self._ids = file.table["id"]
        self._numbers = Matrix(file.table[column], dtype=dtype)
        self._last_start = self._last_end = self._scans = 0

    @cached_property
    def _index(self) -> "IdIndex":
        return IdIndex(self._file.table.select(["id"]))

    def places(self, ids: Ids) -> npt.NDArray[np.int64]:
        """Row of the file for each id, -1 where it has none."""
        names = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids, pa.string())
        wanted = names if isinstance(names, pa.ChunkedArray) else pa.chunked_array([names])
        places = self._consecutive(wanted)
        if places is None:
            places = self._index.places(wanted)
        self._file.release()
        return places

    def _consecutive(self, wanted: pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
        """Places of ids that are in the file one after the other, in this order, as they most often are; else None."""
        if not len(wanted):
            return np.zeros(0, dtype=np.int64)
        start = self._start(wanted[0])
        if start < 0 or not self._ids.slice(start, len(wanted)).equals(wanted):
            return None
        self._last_start, self._last_end = start, start + len(wanted)
        return np.arange(start, start + len(wanted), dtype=np.int64)

    def _start(self, first: pa.Scalar) -> int:
        """Row of this id, -1 for none. Who asks for block after block goes on where the last one ended."""
        for start in (self._last_end, self._last_start):
            if start < len(self._ids) and self._ids[start] == first:
                return start
        if "_index" not in self.__dict__ and self._scans < MOST_SCANS:
            self._scans += 1
            return int(pc.index(self._ids, first).as_py())
        return int(self._index.places(pa.chunked_array([pa.array([first.as_py()], pa.string())]))[0])

    def at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """(places, width)."""
        found = self._numbers.at(places)
        self._file.release()
        return found


class IdIndex:
    """Finds rows by their ids: hashes in order, in twelve bytes a row; the ids themselves stay in the file.

    Arrow's own lookup builds a table of all ids at every call.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        hashes = _hashes(table["id"])
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._rows = order.astype(np.int32 if len(order) < np.iinfo(np.int32).max else np.int64)

    def places(self, ids: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Row of the table for each id, the first where it has several; -1 where it has none."""
        found = np.full(len(ids), -1, dtype=np.int64)
        for start in range(0, len(ids), IDS_AT_A_TIME):
            part = ids.slice(start, IDS_AT_A_TIME)
            found[start : start + len(part)] = self._places(part)
        return found

    def _places(self, ids: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        found = np.full(len(ids), -1, dtype=np.int64)
        wanted, hashes = pa.table({"id": ids}), _hashes(ids)
        at = np.searchsorted(self._hashes, hashes)
        unfound = np.arange(len(ids))
        while len(unfound):  # a second time only where different ids have the same hash
            unfound = unfound[at[unfound] < len(self._hashes)]
            unfound = unfound[self._hashes[at[unfound]] == hashes[unfound]]
            rows = self._rows[at[unfound]].astype(np.int64)
            is_same = pc.equal(
                take_rows(self._table, rows)["id"].combine_chunks(), take_rows(wanted, unfound)["id"].combine_chunks()
            ).to_numpy(zero_copy_only=False)
            found[unfound[is_same]] = rows[is_same]
            unfound = unfound[~is_same]
            at[unfound] += 1
        return found


def _hashes(ids: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """(ids): a number for each, the same for equal ids within this process."""
    hashes = np.empty(len(ids), dtype=np.int64)
    for start in range(0, len(ids), IDS_AT_A_TIME):
        names = ids.slice(start, IDS_AT_A_TIME).to_pylist()
        hashes[start : start + len(names)] = [hash(name) for name in names]
    return hashes


class LabelsWriter:
    """Writes labels into a scratch folder, one window of rows at a time; used in a `with` statement."""

    def __init__(self, folder: Path, *, classes: int, width: int | None = None) -> None:
        self._closing = ExitStack()
        self._labels = self._open(folder / LABELS, "logits", pa.list_(pa.float32(), classes))
        self._features = self._open(folder / FEATURES, "features", pa.list_(pa.float16(), width)) if width else None

    def _open(self, path: Path, name: str, kind: pa.DataType) -> pa.RecordBatchFileWriter:
        sink = self._closing.enter_context(pa.OSFile(str(path), "wb"))
        return self._closing.enter_context(pa.ipc.new_file(sink, pa.schema([("id", pa.string()), (name, kind)])))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._closing.close()

    def write(self, ids: Ids, logits: npt.NDArray[np.float32], features: npt.NDArray[np.float16] | None = None) -> None:
        """Rows in the order of `ids`; logits is (rows, classes), features (rows, width)."""
        names = pa.array(ids, pa.string()) if not isinstance(ids, pa.ChunkedArray) else ids.combine_chunks()
        self._labels.write_table(pa.table({"id": names, "logits": list_column(logits.astype(np.float32, copy=False))}))
        if self._features and features is not None:
            self._features.write_table(pa.table({"id": names, "features": list_column(features)}))
        pa.default_memory_pool().release_unused()  # otherwise earlier windows still count as memory in use


def save_teacher_labels(
    folder: Path,
    *,
    ids: Sequence[str],
    logits: npt.NDArray[np.float32],
    facts: dict[str, Any],
    features: npt.NDArray[np.float16] | None = None,
) -> None:
    """Write labels that are in memory into a scratch folder, rows in the order of `ids`."""
    width = features.shape[1] if features is not None else None
    with LabelsWriter(folder, classes=logits.shape[1], width=width) as labels:
        labels.write(ids, logits, features)
    save_label_facts(folder, facts=facts, asking={})


def save_label_facts(folder: Path, *, facts: dict[str, Any], asking: dict[str, Any]) -> None:
    """Write labels.json and asking.json into a scratch folder."""
    for name, content in ((FACTS, facts), (ASKING, asking)):
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(path)
    return content
