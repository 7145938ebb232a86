"""Text out of files, pipes and streams: gzip by content, byte order marks, undecodable bytes and their row."""

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.errors import BytesUndecodable, FileMissing, FileUnreadable
from limbeck.tables import TableForm, opening
from limbeck.tables.opening import Source, TextInput, text_lines


def read(source: Source, *, encoding: str = "utf-8") -> list[str]:
    return list(TextInput(source, form=TableForm(encoding=encoding)).lines())


def test_gzip_is_known_by_its_first_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv"
    packed.write_bytes(gzip.compress(b"one\ntwo"))
    plain = tmp_path / "rows.csv.gz"
    plain.write_bytes(b"one\ntwo")

    assert read(packed) == read(plain) == ["one", "two"]
    with packed.open("rb") as file:
        assert read(file) == ["one", "two"]


def test_only_line_feeds_end_a_line() -> None:
    assert read(io.BytesIO("a\r\nb\u2028c\x0bd\re\n\nf".encode())) == ["a", "b\u2028c\x0bd\re", "", "f"]


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 16])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_lines_are_put_together_across_blocks(monkeypatch: pytest.MonkeyPatch, block: int, encoding: str) -> None:
    """In UTF-16 the byte of a line feed is half of many characters."""
    monkeypatch.setattr(opening, "BLOCK_BYTES", block)
    text = "einen größeren\r\n\n上Ċ\r\u0a0a\rlast\r\n电影"

    plain = TextInput(io.BytesIO(text.encode(encoding)), form=TableForm(encoding=encoding))
    for_csv = TextInput(io.BytesIO(text.encode(encoding)), form=TableForm(encoding=encoding))

    assert list(plain.lines()) == ["einen größeren", "", "上Ċ\r\u0a0a\rlast", "电影"]
    assert list(for_csv.lines_with_ends()) == ["einen größeren\r\n", "\n", "上Ċ\r", "\u0a0a\r", "last\r\n", "电影"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_a_byte_order_mark_is_skipped_at_the_start_only(encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"  # UTF-16 writes its own

    assert read(io.BytesIO(f"{mark}好\n\ufefffine\n".encode(encoding)), encoding=encoding) == ["好", "\ufefffine"]


def test_looking_ahead_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BLOCK_BYTES", 3)
    text = TextInput(io.BytesIO(b"a line\n" * 50))

    assert (text.head(0), text.head(1)) == ("a l", "a line\na ")
    assert 20 <= text.head().count("\n") < 50
    assert list(text.lines()) == ["a line"] * 50
    assert TextInput(io.BytesIO(b"")).head() == ""


def test_looking_ahead_is_bounded_where_there_are_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_HEAD", 10_000)
    text = TextInput(io.BytesIO(b" " * 70_000 + b"x" * 1_000_000))

    assert len(text.head(0)) < 200_000
    assert len(text.head(1)) < 200_000


def test_text_streams_are_read_too() -> None:
    assert read(io.StringIO("a\nb \ud800\n")) == ["a", "b \ufffd"]
    assert read(io.TextIOWrapper(io.BytesIO("ä\n".encode()), encoding="ascii")) == ["ä"]


@pytest.mark.parametrize(
    ("encoding", "line"), [("utf-7", b"caf+2AA- film\n"), ("unicode_escape", b"caf\\ud800 film\n")]
)
def test_half_a_character_that_an_encoding_lets_through_is_replaced(encoding: str, line: bytes) -> None:
    assert read(io.BytesIO(line), encoding=encoding) == ["caf\ufffd film"]


def test_undecodable_bytes_are_reported_with_their_line_and_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(b"fine\n" * 400_000 + b"caf\xe9 is latin\nfine\n")  # beyond the first piece read

    with pytest.raises(BytesUndecodable, match="e9") as caught:
        read(path)

    assert caught.value.row == 400_001


def test_lines_before_undecodable_bytes_are_read() -> None:
    text = TextInput(io.BytesIO(b"a\nb\nc \xff d\n"))
    lines = text.lines()

    assert (text.head(), next(lines), next(lines)) == ("a\nb\nc ", "a", "b")
    with pytest.raises(BytesUndecodable, match="row 3: not valid utf-8\n  found the bytes ff"):
        next(lines)


def test_a_file_that_ends_within_a_character_is_reported_at_its_last_line() -> None:
    with pytest.raises(BytesUndecodable, match="e5 a5") as caught:
        read(io.BytesIO("fine\n好".encode()[:-1]))

    assert caught.value.row == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_undecodable_bytes_in_a_two_byte_encoding_have_the_right_line(encoding: str) -> None:
    content = "one\ntwo\n".encode(encoding) + b"\x00\xdc\x0a\x00"

    with pytest.raises(BytesUndecodable, match="00 dc") as caught:
        read(io.BytesIO(content), encoding=encoding)

    assert caught.value.row == 3


def test_utf16_without_its_mark_is_reported() -> None:
    with pytest.raises(BytesUndecodable):
        read(io.BytesIO("one\n".encode("utf-16-be") + b"\x00"), encoding="utf-16")


def test_a_gzip_file_that_was_cut_off_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 400)[:200])

    with pytest.raises(FileUnreadable, match="gzip"):
        read(path, encoding="latin-1")


def test_a_missing_file_is_reported_with_a_name_that_is_close(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("x")

    with pytest.raises(FileMissing, match=r"did you mean 'train.tsv'"):
        read(tmp_path / "trian.tsv")


def test_a_folder_is_unreadable_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="directory"):
        read(tmp_path)


@pytest.mark.parametrize("by_options", [True, False])
def test_an_unknown_encoding_is_named(by_options: bool) -> None:
    text = TextInput(io.BytesIO(b"x"), form=TableForm(encoding="klingon", by_options=by_options))

    with pytest.raises(FileUnreadable, match="klingon") as caught:
        text.head()

    assert ("--encoding" in str(caught.value)) == by_options


def test_the_watch_hears_of_every_byte_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt.gz"
    path.write_bytes(gzip.compress(b"a line of text\n" * 5000))
    counts: list[int] = []

    list(TextInput(path, watch=counts.append).lines())

    assert sum(counts) == path.stat().st_size


@pytest.mark.parametrize("ends", [TextInput.lines, TextInput.lines_with_ends])
def test_a_pipe_says_when_nothing_more_has_arrived(ends: Callable[..., object]) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source:
        os.write(writing, b"a\nb\nc")
        text = TextInput(source)
        head = text.head()
        lines = iter(ends(text))  # type: ignore[call-overload]

        first, drained_after_first = next(lines), text.drained
        second, drained_after_second = next(lines), text.drained
        os.write(writing, b"c\n")
        os.close(writing)

        assert head == "a\nb\nc"
        assert (first.strip(), drained_after_first) == ("a", False)
        assert (second.strip(), drained_after_second) == ("b", True)
        assert [line.strip() for line in lines] == ["cc"]


def test_a_file_is_never_drained_and_a_stream_is_left_open(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")
    text, stream = TextInput(path), io.BytesIO(b"a\nb\n")

    assert [text.drained for _ in text.lines()] == [False, False]
    assert read(stream) == list(text_lines(path, encoding="utf-8"))
    assert not stream.closed
