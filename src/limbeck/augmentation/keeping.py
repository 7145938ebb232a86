"""Copies on disk: those that were made, and the rows that are kept of them."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.manifest import WORK
from limbeck.artifacts.mapped import Matrix, map_table
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.transfer_text import SOURCES
from limbeck.augmentation.judging import Verdict, Verdicts
from limbeck.augmentation.portions import SIDES


class Made(NamedTuple):
    """The changed copies, on disk but for their numbers."""

    table: pa.Table
    sources: npt.NDArray[np.int32]  # (copies): places among all rows that are copied
    keys: npt.NDArray[np.uint64]  # (copies, 2)
    changes: npt.NDArray[np.int32]  # (copies, methods)

    @classmethod
    def load(cls, path: Path) -> "Made":
        table = map_table(path).table
        keys, changes = Matrix(table["key"], dtype=np.uint64), Matrix(table["changes"], dtype=np.int32)
        return cls(table, table["source"].to_numpy(), keys.whole(), changes.whole())


def write_kept(copies: pa.Table, verdicts: Verdicts, originals: Rows, scratch: Path) -> Rows:
    """The copies that stay, as rows in a file of the work folder, and beside the artifact's rows where each is from:
    `originals` are all rows that are copied."""
    path, sides = scratch / WORK / "kept.arrow", [name for name in SIDES if name in copies.column_names]
    ids = originals.table["id"].combine_chunks()
    with ExitStack() as closing:
        rows_file = _Table(path, closing)
        sources_file = _Table(scratch / SOURCES, closing)
        seen = written = 0
        for batch in copies.to_batches():
            kept = batch.filter(pa.array(verdicts[seen : seen + batch.num_rows] == Verdict.KEPT))
            seen += batch.num_rows
            names = [f"augmented-{number}" for number in range(written, written + kept.num_rows)]
            written += kept.num_rows
            texts = [kept.column(side) for side in sides]
            rows_file.write(Rows.of(ids=names, texts=texts[0], pairs=texts[1] if len(texts) == 2 else None).table)
            sources = {"id": pa.array(names, pa.string()), "source": ids.take(kept.column("source"))}
            sources_file.write(pa.table({**sources, "changes": kept.column("changes")}))
    return Rows.load(path)


class _Table:
    """An Arrow file that is written piece by piece; the first piece says what columns it has."""

    def __init__(self, path: Path, closing: ExitStack) -> None:
        self._path, self._closing = path, closing
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self._writer is None:
            sink = self._closing.enter_context(pa.OSFile(str(self._path), "wb"))
            self._writer = self._closing.enter_context(pa.ipc.new_file(sink, table.schema))
        self._writer.write_table(table)
