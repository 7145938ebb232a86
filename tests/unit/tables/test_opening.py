"""Opening files: gzip by content, byte order marks, undecodable bytes and their row."""

import gzip
from pathlib import Path

import pytest

from limbeck.errors import BytesUndecodable, FileMissing, FileUnreadable
from limbeck.tables.opening import text_lines


def lines_of(path: Path, *, encoding: str = "utf-8", newline: str = "\n") -> list[str]:
    return list(text_lines(path, encoding=encoding, newline=newline))


def test_gzip_is_known_by_its_first_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv"
    packed.write_bytes(gzip.compress(b"one\ntwo"))
    plain = tmp_path / "rows.csv.gz"
    plain.write_bytes(b"one\ntwo")

    assert lines_of(packed) == lines_of(plain) == ["one\n", "two"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_a_byte_order_mark_is_skipped(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.txt"
    mark = "" if encoding == "utf-16" else "\ufeff"  # UTF-16 writes its own
    path.write_bytes(f"{mark}好\nfine\n".encode(encoding))

    assert lines_of(path, encoding=encoding) == ["好\n", "fine\n"]


def test_undecodable_bytes_are_reported_with_their_line_and_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(b"fine\n" * 400_000 + b"caf\xe9 is latin\nfine\n")  # beyond the first piece read

    with pytest.raises(BytesUndecodable, match="e9") as caught:
        lines_of(path)

    assert caught.value.row == 400_001


def test_a_file_that_ends_within_a_character_is_reported_at_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes("fine\n好".encode()[:-1])

    with pytest.raises(BytesUndecodable, match="e5 a5") as caught:
        lines_of(path)

    assert caught.value.row == 2


def test_undecodable_bytes_in_a_two_byte_encoding_have_the_right_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes("one\ntwo\n".encode("utf-16-le") + b"\x00\xdc\x0a\x00")

    with pytest.raises(BytesUndecodable) as caught:
        lines_of(path, encoding="utf-16-le")

    assert caught.value.row == 3


def test_a_gzip_file_that_was_cut_off_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 400)[:200])

    with pytest.raises(FileUnreadable, match="gzip"):
        lines_of(path, encoding="latin-1")


def test_a_missing_file_is_reported_with_a_name_that_is_close(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("x")

    with pytest.raises(FileMissing, match=r"did you mean 'train.tsv'"):
        lines_of(tmp_path / "trian.tsv")


def test_a_folder_is_unreadable_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable):
        lines_of(tmp_path)


def test_an_unknown_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("x")

    with pytest.raises(FileUnreadable, match="utf-9"):
        lines_of(tmp_path / "rows.txt", encoding="utf-9")


def test_the_watch_is_told_of_every_byte_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt.gz"
    path.write_bytes(gzip.compress(b"a line of text\n" * 5000))
    told: list[int] = []

    list(text_lines(path, encoding="utf-8", newline="\n", watch=told.append))

    assert sum(told) == path.stat().st_size
