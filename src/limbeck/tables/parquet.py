"""Rows of parquet files; pyarrow is imported when the first one is read."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import DependencyMissing, FileUnreadable
from limbeck.tables.opening import opened
from limbeck.tables.raw_table import NumberedCells, RawTable, Watch

ROWS_AT_A_TIME = 8192


def parquet_table(path: Path, *, watch: Watch) -> RawTable:
    """A parquet file; only the columns that are asked for are read."""
    file = _open(path)
    columns = list(file.schema_arrow.names)

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        names = [columns[position] for position in positions]
        number, size, total = 1, path.stat().st_size, max(1, file.metadata.num_rows)
        for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME, columns=list(dict.fromkeys(names))):
            cells = [batch.column(name).to_pylist() for name in names]
            for row in zip(*cells, strict=True):
                yield number, row
                number += 1
            watch(size * batch.num_rows // total)

    return RawTable(path=path, columns=columns, is_named=True, rows=rows)


def _open(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DependencyMissing(package="pyarrow", purpose="reading parquet files", extra="train") from None
    with opened(path) as stream:
        is_packed = not isinstance(stream, io.BufferedReader)
        unpacked = stream.read() if is_packed else b""
    try:
        return pq.ParquetFile(pa.BufferReader(unpacked) if is_packed else path)
    except (pa.ArrowInvalid, OSError) as error:
        raise FileUnreadable(path=path, kind="parquet", reason=str(error).splitlines()[0]) from None
