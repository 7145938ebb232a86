"""Rows of parquet files, read and written in bounded memory; pyarrow is imported when the first one is opened."""

import gzip
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from limbeck.errors import DependencyMissing, FileUnreadable
from limbeck.tables.opening import Source, opened, path_of
from limbeck.tables.raw_table import NumberedCells, RawTable, Watch, unwatched

MAGIC = b"PAR1"
ROWS_AT_A_TIME = 8192
BUFFER_BYTES = 1 << 20  # of each column, in place of all its pages in a row group
GROUP_ROWS, GROUP_BYTES = 1 << 17, 1 << 26  # of a row group that is written: whichever is reached first


def parquet_table(source: Source, *, watch: Watch = unwatched) -> RawTable:
    """A parquet file; only the columns that are asked for are read."""
    path, file = path_of(source), _open(source)
    columns = list(file.schema_arrow.names)
    size, total = path.stat().st_size if path.is_file() else 0, max(1, file.metadata.num_rows)

    def batches(rows: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        for batch in file.iter_batches(batch_size=rows, columns=names):
            yield batch
            watch(size * batch.num_rows // total)
        if not file.metadata.num_rows and names is None:  # who echoes rows echoes their columns
            yield pyarrow(purpose="reading parquet files")[0].RecordBatch.from_pylist([], schema=file.schema_arrow)

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        names = [columns[position] for position in positions]
        number = 1
        for batch in batches(ROWS_AT_A_TIME, list(dict.fromkeys(names))):
            cells = [batch.column(name).to_pylist() for name in names]
            for row in zip(*cells, strict=True):
                yield number, row
                number += 1

    return RawTable(
        path=path,
        columns=columns,
        is_named=True,
        rows=rows,
        format="parquet",
        batches=batches,
        close=file.close,
    )


def starts_as_parquet(source: Source) -> bool:
    """Whether the first bytes are those of parquet; nothing is taken from a stream."""
    if isinstance(source, str | Path):
        if not Path(source).is_file():  # a pipe with a name can be read only once
            return False
        with opened(source) as stream:
            return stream.read(len(MAGIC)) == MAGIC
    inner = getattr(source, "buffer", source)
    return isinstance(inner, io.BufferedReader) and inner.peek(len(MAGIC)).startswith(MAGIC)


def plain_cells(batch: Any) -> list[Sequence[object]]:
    """The rows of a batch with values that JSON has; times and decimals as Arrow writes them."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        kind = column.type
        is_odd = pa.types.is_temporal(kind) or pa.types.is_decimal(kind)
        # pyarrow has no text for durations, and no datetime of Python holds nanoseconds.
        to = pa.int64() if pa.types.is_duration(kind) else pa.string()
        columns.append((column.cast(to) if is_odd else column).to_pylist())
    return list(zip(*columns, strict=True))


def cell_text(cell: object) -> str:
    """A cell of any type as the cell of a csv or tsv file."""
    match cell:
        case str():
            return cell
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case list() | dict() | tuple():
            return json.dumps(cell, ensure_ascii=False, default=json_value)
        case bytes():
            return json_value(cell)
        case _:
            return str(cell)


def json_value(cell: object) -> str:
    """A value that JSON does not have."""
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)


class ParquetSink:
    """Writes batches to a file, gathered into row groups of a size that readers like."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._waiting, self._rows, self._bytes = file, list[Any](), 0, 0
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Write the rows of a batch; all batches have one schema."""
        self._waiting.append(batch)
        self._rows, self._bytes = self._rows + batch.num_rows, self._bytes + batch.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        if not self._waiting:
            return
        pa, pq = pyarrow(purpose="writing parquet files")
        table = pa.Table.from_batches(self._waiting)
        self._writer = self._writer or pq.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table, row_group_size=len(table) or None)
        self._waiting, self._rows, self._bytes = [], 0, 0


def pyarrow(*, purpose: str) -> tuple[Any, Any]:
    """pyarrow and its parquet module; raises DependencyMissing."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DependencyMissing(package="pyarrow", purpose=purpose, extra="train") from None
    return pa, pq


def _open(source: Source) -> Any:
    pa, pq = pyarrow(purpose="reading parquet files")
    try:
        # What pyarrow buffers ahead it keeps until the file is closed: that would be all of it.
        return pq.ParquetFile(_seekable(source, pa), buffer_size=BUFFER_BYTES, pre_buffer=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise FileUnreadable(path=path_of(source), kind="parquet", reason=str(error).splitlines()[0]) from None


def _seekable(source: Source, pa: Any) -> Any:
    """The file itself; what is packed or comes through a pipe goes to a file of its own first, and not into memory."""
    with opened(source) as stream:
        if isinstance(source, str | Path) and Path(source).is_file() and not isinstance(stream, gzip.GzipFile):
            return Path(source)
        import shutil  # these two take a tenth of the time in which `predict` starts
        import tempfile

        with tempfile.NamedTemporaryFile() as file:
            shutil.copyfileobj(cast(BinaryIO, stream), file)
            file.flush()
            return pa.OSFile(file.name)  # which is there as long as it is open
