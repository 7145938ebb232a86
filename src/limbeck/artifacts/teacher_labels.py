"""Teacher labels as an artifact of a run: logits by row id."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.manifest import read_manifest
from limbeck.errors import LabelsDoNotCover


@dataclass(frozen=True)
class TeacherLabels:
    """`labels.arrow` (id, logits) and labels.json (teacher, rows, how many had to be asked)."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="labels").fingerprint

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What stands in labels.json."""
        facts: dict[str, Any] = json.loads((self.folder / "labels.json").read_text(encoding="utf-8"))
        return facts

    @cached_property
    def _table(self) -> pa.Table:
        with pa.memory_map(str(self.folder / "labels.arrow"), "rb") as source:
            return pa.ipc.open_file(source).read_all()

    @cached_property
    def _position(self) -> dict[str, int]:
        return {row_id: position for position, row_id in enumerate(self._table["id"].to_pylist())}

    @cached_property
    def _logits(self) -> npt.NDArray[np.float32]:
        column = self._table["logits"].combine_chunks()
        width = column.type.list_size
        return np.asarray(column.flatten().to_numpy(), dtype=np.float32).reshape(-1, width)

    def for_rows(self, ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """(rows, classes): logits in the order of `ids`. Raises if any id was never labelled."""
        missing = [row_id for row_id in ids if row_id not in self._position]
        if missing:
            raise LabelsDoNotCover(labels=self.folder, missing=missing, total=len(ids))
        return self._logits[[self._position[row_id] for row_id in ids]]


def save_teacher_labels(
    folder: Path, *, ids: Sequence[str], logits: npt.NDArray[np.float32], facts: dict[str, Any]
) -> None:
    """Write the files of teacher labels into a scratch folder; logits is (rows, classes), in the order of ids."""
    flat = pa.array(np.ascontiguousarray(logits, dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, logits.shape[1])
    table = pa.table({"id": pa.array(ids, pa.string()), "logits": column})
    with pa.OSFile(str(folder / "labels.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    (folder / "labels.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
