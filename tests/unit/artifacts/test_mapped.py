"""Arrow files are looked at where they lie, and rows of many chunks are found in their chunk."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from limbeck.artifacts.mapped import Matrix, list_column, map_table, read_texts, take_rows

OPEN_FILES = Path("/proc/self/fd")
CHUNKED = pa.concat_tables(
    [
        pa.table(
            {
                "text": pa.array(texts, pa.large_string()),
                "number": pa.array(range(start, start + len(texts)), pa.int64()),
            }
        )
        for start, texts in ((0, ["eins", "", "三 four"]), (3, ["five"]), (4, []), (4, ["six", "sieben"]))
    ]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of several chunks."""
    with pa.OSFile(str(tmp_path / "table.arrow"), "wb") as sink, pa.ipc.new_file(sink, CHUNKED.schema) as writer:
        writer.write_table(CHUNKED)
    return tmp_path / "table.arrow"


def test_texts_are_read_from_the_file_by_their_position(path: Path) -> None:
    texts = read_texts(map_table(path), "text", np.array([5, 0, 2, 1, 3, 2]))

    assert texts == ["sieben", "eins", "三 four", "", "five", "三 four"]


def test_texts_are_read_where_files_have_no_places(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "pread")

    assert read_texts(map_table(path), "text", np.array([5, 1, 2])) == ["sieben", "", "三 four"]


def test_what_was_given_back_can_be_read_again(path: Path) -> None:
    file = map_table(path)
    before = file.table["text"].to_pylist()

    file.release()

    assert file.table["text"].to_pylist() == before


def test_a_table_outlives_the_object_it_came_with_and_the_file_itself(path: Path) -> None:
    table = map_table(path).table

    path.unlink()

    assert table["number"].to_pylist() == [0, 1, 2, 3, 4, 5]


def test_files_are_closed_when_nobody_looks_at_them_any_more(path: Path) -> None:
    before = len(list(OPEN_FILES.iterdir()))

    for _ in range(20):
        map_table(path)

    assert len(list(OPEN_FILES.iterdir())) == before


@pytest.mark.parametrize("content", [b"", b"no arrow file"])
def test_what_is_no_arrow_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.arrow").write_bytes(content)

    with pytest.raises(pa.ArrowInvalid):
        map_table(tmp_path / "bad.arrow")


def test_rows_of_several_chunks_come_in_the_order_asked_for() -> None:
    assert take_rows(CHUNKED, [5, 0, 3, 0])["number"].to_pylist() == [5, 0, 3, 0]
    assert take_rows(CHUNKED, []).schema == CHUNKED.schema


def test_taking_rows_of_several_chunks_does_not_copy_the_others() -> None:
    big = pa.table({"text": pa.array(["x" * 1000] * 1000, pa.large_string())})
    table = pa.concat_tables([big] * 20)
    usual, watched = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(watched)

    try:
        texts = take_rows(table, [0, 19_999])["text"].to_pylist()
    finally:
        pa.set_memory_pool(usual)

    assert 0 < watched.max_memory() < 100_000  # the column has 20 million bytes
    assert [len(text) for text in texts] == [1000, 1000]


def test_a_matrix_of_several_chunks_is_read_row_by_row() -> None:
    numbers = np.arange(12, dtype=np.float32).reshape(6, 2)
    column = pa.chunked_array([list_column(numbers[:1]), list_column(numbers[1:1]), list_column(numbers[1:])])

    matrix = Matrix(column, dtype=np.float32)

    assert len(matrix) == 6
    assert matrix.at(np.array([5, 0, 1])).tolist() == [[10, 11], [0, 1], [2, 3]]
    np.testing.assert_array_equal(matrix.read_all(), numbers)
