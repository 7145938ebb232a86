"""Rows of parquet files."""

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.errors import ColumnMissing, FileEmpty, FileUnreadable, RowMalformed
from limbeck.tables import Record, TableForm, read_table
from limbeck.tables.parquet import parquet_table
from limbeck.tables.parquet_pages import HeaderDamaged, _header

COLUMNS = {"text": "text", "label": "label"}


def written(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_rows_come_with_their_number_and_as_text(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": [7, 8], "text": ["one", "two"], "label": [1.0, 0.0]})

    rows = list(read_table(path, form=TableForm(), columns=COLUMNS))

    assert rows == [Record(1, ("one", "1")), Record(2, ("two", "0"))]


def test_a_packed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": ["one"], "label": ["x"]})
    packed = tmp_path / "rows.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    assert list(read_table(packed, form=TableForm(), columns=COLUMNS)) == [Record(1, ("one", "x"))]


def test_a_dictionary_column_gives_its_values(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": ["a", "b"], "label": pa.array(["x", "y"]).dictionary_encode()})

    assert [record.values[1] for record in read_table(path, form=TableForm(), columns=COLUMNS)] == ["x", "y"]


def test_a_null_label_is_reported_with_its_row(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": ["a", "b"], "label": ["x", None]})

    with pytest.raises(RowMalformed, match="null") as caught:
        list(read_table(path, form=TableForm(), columns=COLUMNS))

    assert caught.value.row == 2


def test_a_missing_column_names_those_that_are_there(tmp_path: Path) -> None:
    path = written(tmp_path, {"sentence": ["a"], "label": ["x"]})

    with pytest.raises(ColumnMissing) as caught:
        list(read_table(path, form=TableForm(), columns=COLUMNS))

    assert caught.value.columns == ("sentence", "label")


def test_a_file_that_only_claims_to_be_parquet_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("text,label\na,1\n")

    with pytest.raises(FileUnreadable, match="parquet"):
        list(read_table(path, form=TableForm(), columns=COLUMNS))


def test_a_file_without_rows_is_empty(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": pa.array([], pa.string()), "label": pa.array([], pa.string())})

    with pytest.raises(FileEmpty):
        list(read_table(path, form=TableForm(), columns=COLUMNS))


@pytest.mark.parametrize("group", [2_000, 100_000])
def test_a_large_file_is_never_in_memory_as_a_whole(tmp_path: Path, group: int) -> None:
    path = tmp_path / "rows.parquet"
    texts = [f"{number:0300d}" for number in range(20_000)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=group, use_dictionary=False, compression="none")
    before, peak = pa.total_allocated_bytes(), 0
    table = parquet_table(path)
    assert table.batches is not None

    for batch in table.batches(1000):
        del batch
        peak = max(peak, pa.total_allocated_bytes() - before)

    assert path.stat().st_size > 6_000_000
    assert peak < 3_000_000  # a buffer of a megabyte, and the rows of two batches


def test_the_watch_sees_the_whole_file_go_by(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": ["a"] * 20_000, "label": ["x"] * 20_000})
    reported: list[int] = []

    list(read_table(path, form=TableForm(), columns=COLUMNS, watch=reported.append))

    assert sum(reported) == pytest.approx(path.stat().st_size, abs=5)


def test_lists_nested_without_end_in_a_page_header_are_damage() -> None:
    lists = b"\x19" * 100_000  # a field that is a list of one, which is a list of one …

    with pytest.raises(HeaderDamaged, match="nested too deeply"):
        _header(io.BytesIO(lists), 0)
