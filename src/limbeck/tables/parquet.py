"""Rows of parquet files, read and written in bounded memory; pyarrow is imported when the first one is opened."""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from limbeck.errors import DependencyMissing, FileUnreadable
from limbeck.tables.opening import Source, opened, path_of
from limbeck.tables.parquet_pages import HeaderDamaged, refuse_claims
from limbeck.tables.raw_table import NumberedCells, RawTable, Watch, unwatched
from limbeck.tables.unpacking import Unpacked, is_bomb, unpacks_to_too_much

MAGIC = b"PAR1"
ROWS_AT_A_TIME = 8192
BUFFER_BYTES = 1 << 20  # of each column, in place of all its pages in a row group
GROUP_ROWS, GROUP_BYTES = 1 << 17, 1 << 26  # of a row group that is written: whichever is reached first


def parquet_table(source: Source, *, watch: Watch = unwatched) -> RawTable:
    """A parquet file; only the columns that are asked for are read."""
    file = _ParquetRows(source, watch)
    return RawTable(
        path=file.path,
        columns=file.columns,
        is_named=True,
        rows=file.rows,
        format="parquet",
        batches=file.batches,
        close=file.close,
    )


class _ParquetRows:
    """An opened file."""

    def __init__(self, source: Source, watch: Watch) -> None:
        self.path, self._watch = path_of(source), watch
        with damage_as_user_errors(self.path):
            self._bytes = _seekable(source)
            self._file = _open(self._bytes)
            self.columns, self._metadata = list(self._file.schema_arrow.names), self._file.metadata
            self._size = self._bytes.size()
        self.close = self._bytes.close

    def batches(self, rows: int, names: Sequence[str] | None = None) -> Iterator[Any]:
        """At most this many rows at a time, of all columns or of those with these names."""
        if len(set(self.columns)) < len(self.columns):
            names = None  # pyarrow cannot tell columns of one name apart
        unpacked, total = 0, max(1, self._metadata.num_rows)
        watched = self.path.stat().st_size if self.path.is_file() else 0  # packed, if it is
        for batch in self._read(rows, names):
            unpacked += sum(map(_bytes_of_values, batch.columns))
            if is_bomb(unpacked, packed=self._size):  # by values that every row repeats
                raise unpacks_to_too_much(self.path, packed=self._size, kind="parquet")
            yield batch
            self._watch(watched * batch.num_rows // total)
        if not self._metadata.num_rows and names is None:  # who echoes rows echoes their columns
            pa, _ = pyarrow(purpose="reading parquet files")
            yield pa.RecordBatch.from_pylist([], schema=self._file.schema_arrow)

    def rows(self, positions: Sequence[int]) -> Iterator[NumberedCells]:
        """As RawTable has them."""
        names = [self.columns[position] for position in positions]
        number = 1
        for batch in self.batches(ROWS_AT_A_TIME, list(dict.fromkeys(names))):
            has_all = batch.num_columns == len(self.columns)
            places = positions if has_all else [batch.schema.names.index(name) for name in names]
            for row in zip(*(python_values(batch.column(at), path=self.path) for at in places), strict=True):
                yield number, row
                number += 1

    def _read(self, rows: int, names: Sequence[str] | None) -> Iterator[Any]:
        with damage_as_user_errors(self.path):
            most = refuse_claims(self.path, self._bytes, self._metadata, _leaves(self._metadata, names))
            for batch in self._file.iter_batches(batch_size=min(rows, most), columns=names):
                batch.validate(full=True)  # texts are UTF-8, and the values of dictionaries exist
                yield batch


def _bytes_of_values(column: Any) -> int:
    """As if each row had its own: a dictionary is there once, and part of every batch."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not _has_lengths(column.type.value_type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(column.indices.nbytes) + int(pc.sum(lengths).as_py() or 0)


def _has_lengths(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


@contextmanager
def damage_as_user_errors(path: Path) -> Iterator[None]:
    """Turns what pyarrow raises for a file or a value that it cannot read into FileUnreadable."""
    pa, _ = pyarrow(purpose="reading parquet files")
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, HeaderDamaged) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        advice = "Write the file again, with texts in UTF-8 and times that Python has, or give it as jsonl or csv."
        raise FileUnreadable(path=path, kind="parquet", reason=reason, advice=advice) from None


def _leaves(metadata: Any, names: Sequence[str] | None) -> list[int]:
    """The columns of the file, of which a nested one has several, that belong to these names."""
    paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
    if names is None:
        return list(range(len(paths)))
    return [at for at, path in enumerate(paths) if any(path == name or path.startswith(f"{name}.") for name in names)]


def starts_as_parquet(source: Source) -> bool:
    """Whether the first bytes are those of parquet; nothing is taken from a stream."""
    if isinstance(source, str | Path):
        if not Path(source).is_file():  # a pipe with a name can be read only once
            return False
        with opened(source) as stream:
            return stream.read(len(MAGIC)) == MAGIC
    inner = getattr(source, "buffer", source)
    return isinstance(inner, io.BufferedReader) and inner.peek(len(MAGIC)).startswith(MAGIC)


def python_values(column: Any, *, path: Path) -> list[object]:
    """The values of a column of a batch."""
    with damage_as_user_errors(path):
        values: list[object] = column.to_pylist()
        return values


def plain_cells(batch: Any, *, path: Path) -> list[Sequence[object]]:
    """The rows of a batch with values that JSON has; times and decimals as Arrow writes them."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        kind = column.type
        is_odd = pa.types.is_temporal(kind) or pa.types.is_decimal(kind)
        # pyarrow has no text for durations, and no datetime of Python holds nanoseconds.
        to = pa.int64() if pa.types.is_duration(kind) else pa.string()
        with damage_as_user_errors(path):
            columns.append(python_values(column.cast(to) if is_odd else column, path=path))
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


def _open(file: Any) -> Any:
    _, pq = pyarrow(purpose="reading parquet files")
    # What pyarrow buffers ahead it keeps until the file is closed: that would be all of it.
    return pq.ParquetFile(file, buffer_size=BUFFER_BYTES, pre_buffer=False)


def _seekable(source: Source) -> Any:
    """The file itself; what is packed or comes through a pipe goes to a file of its own first, and not into memory."""
    pa, _ = pyarrow(purpose="reading parquet files")
    with opened(source) as stream:
        is_packed = isinstance(getattr(stream, "raw", None), Unpacked)
        if isinstance(source, str | Path) and Path(source).is_file() and not is_packed:
            return pa.OSFile(str(source))
        import shutil  # these two take a tenth of the time in which `predict` starts
        import tempfile

        with tempfile.NamedTemporaryFile() as file:
            shutil.copyfileobj(cast(BinaryIO, stream), file)
            file.flush()
            return pa.OSFile(file.name)  # which is there as long as it is open
