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

from limbeck.artifacts.manifest import fingerprint_of, read_manifest
from limbeck.artifacts.mapped import MappedTable, Matrix, list_column, map_table
from limbeck.errors import LabelsDoNotCover

LABELS, FEATURES, FACTS, ASKING = "labels.arrow", "features.arrow", "labels.json", "asking.json"
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

    def features_for(self, ids: Ids) -> npt.NDArray[np.float16]:
        """(rows, width): features in the order of `ids`; only those rows are read. Raises as `for_rows` does.

        Every call looks the ids up among all ids: ask for many at a time.
        """
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

    def places(self, ids: Ids) -> npt.NDArray[np.int64]:
        """Row of the file for each id, -1 if it has no such row."""
        wanted = ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(ids, pa.string())
        places = self._consecutive(wanted)
        if places is None:
            found = pc.index_in(wanted, value_set=self._ids)
            places = np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
        self._file.release()
        return places

    def _consecutive(self, wanted: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
        """Positions of ids that are consecutive in the file, as they usually are; None if they are not."""
        if not len(wanted):
            return np.zeros(0, dtype=np.int64)
        start = pc.index(self._ids, wanted[0]).as_py()
        chunks = wanted if isinstance(wanted, pa.ChunkedArray) else pa.chunked_array([wanted])
        if start < 0 or not self._ids.slice(start, len(wanted)).equals(chunks):
            return None
        return np.arange(start, start + len(wanted), dtype=np.int64)

    def at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """(places, width)."""
        found = self._numbers.at(places)
        self._file.release()
        return found


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
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
