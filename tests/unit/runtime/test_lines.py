import gzip
import io
import os
from pathlib import Path

import pytest
from limbeck.runtime.lines import Lines, Source, opened

from limbeck.errors import BytesUndecodable, FileMissing, FileUnreadable
from limbeck.runtime import lines as lines_module


def read(source: Source, *, encoding: str = "utf-8") -> list[str]:
    with opened(source, encoding=encoding) as lines:
        return list(lines)


def test_only_line_feeds_end_a_line() -> None:
    assert read(io.BytesIO("a\r\nb\u2028c\x0bd\n\ne".encode())) == ["a", "b\u2028c\x0bd", "", "e"]


def test_lines_are_put_together_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 3)

    assert read(io.BytesIO("einen größeren\n\nSatz\nx".encode())) == ["einen größeren", "", "Satz", "x"]


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    assert read(io.BytesIO("\ufeffa\n\ufeffb\n".encode())) == ["a", "\ufeffb"]


def test_text_streams_are_read_too() -> None:
    assert read(io.StringIO("a\nb \ud800\n")) == ["a", "b \ufffd"]
    assert read(io.TextIOWrapper(io.BytesIO("ä\n".encode()), encoding="ascii")) == ["ä"]


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "no-ending"
    path.write_bytes(gzip.compress(b"a\nb\n"))

    assert read(path) == ["a", "b"]
    with path.open("rb") as file:
        assert read(file) == ["a", "b"]


def test_a_cut_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"a\n" * 100_000)[:-20])

    with pytest.raises(FileUnreadable, match="gzip"):
        read(path)


def test_bytes_that_are_no_text_are_refused_with_their_row() -> None:
    with pytest.raises(BytesUndecodable, match="row 3: not valid utf-8\n  found the bytes ff") as refusal:
        read(io.BytesIO(b"a\nb\nc \xff d\n"))

    assert refusal.value.row == 3


def test_another_encoding_can_be_named() -> None:
    assert read(io.BytesIO("电影\n".encode("gb18030")), encoding="gb18030") == ["电影"]


def test_a_missing_file_is_named_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").touch()

    with pytest.raises(FileMissing, match=r"did you mean 'reviews\.csv'"):
        read(tmp_path / "review.csv")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="directory"):
        read(tmp_path)


def test_a_pipe_says_when_nothing_more_has_arrived() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source:
        os.write(writing, b"a\nb\nc")
        lines = Lines(source, path=Path("pipe"))

        first, drained_after_first = next(lines), lines.drained
        second, drained_after_second = next(lines), lines.drained
        os.write(writing, b"c\n")
        os.close(writing)

        assert (first, drained_after_first) == ("a", False)
        assert (second, drained_after_second) == ("b", True)
        assert list(lines) == ["cc"]


def test_a_file_is_never_drained(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")

    with opened(path, encoding="utf-8") as lines:
        assert [lines.drained for _ in lines] == [False, False]


def test_peeking_takes_nothing_away() -> None:
    lines = Lines(io.BytesIO(b"a\nb"), path=Path("bytes"))

    assert (lines.peek(), lines.peek(), lines.number) == ("a", "a", 0)
    assert [(line, lines.number) for line in lines] == [("a", 1), ("b", 2)]
    assert lines.peek() is None


@pytest.mark.parametrize("block", [3, 1 << 16])
def test_wide_encodings_are_cut_into_lines_as_characters(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """In UTF-16 the byte of a line feed is half of many characters."""
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", block)
    text = "上Ċ\r\n\n\u0a0a\nlast"

    assert read(io.BytesIO(text.encode("utf-16")), encoding="utf-16") == ["上Ċ", "", "\u0a0a", "last"]


def test_undecodable_characters_are_told_with_their_line_in_wide_encodings_too() -> None:
    content = "one\ntwo\n".encode("utf-16") + b"\x00\xdc" + "\n".encode("utf-16-le")

    with pytest.raises(BytesUndecodable, match="row 3") as caught:
        read(io.BytesIO(content), encoding="utf-16")

    assert caught.value.row == 3
    assert "00 dc" in str(caught.value)


def test_a_stream_in_a_wide_encoding_is_left_open() -> None:
    stream = io.BytesIO("one\n".encode("utf-16"))

    read(stream, encoding="utf-16")

    assert not stream.closed


@pytest.mark.parametrize(
    ("encoding", "line"), [("utf-7", b"caf+2AA- film\n"), ("unicode_escape", b"caf\\ud800 film\n")]
)
def test_half_a_character_that_an_encoding_lets_through_is_replaced(encoding: str, line: bytes) -> None:
    assert read(io.BytesIO(line), encoding=encoding) == ["caf\ufffd film"]


def test_an_encoding_that_does_not_exist_is_refused() -> None:
    with pytest.raises(FileUnreadable, match="klingon"):
        read(io.BytesIO(b"x"), encoding="klingon")
