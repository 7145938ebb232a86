"""Folders at an address: files appear when they are complete; keys are not shown."""

from pathlib import Path

import pytest

from limbeck.artifacts.file_systems import RemoteFolder, is_address, without_keys
from limbeck.errors import PathUnusable


@pytest.fixture
def folder(tmp_path: Path) -> RemoteFolder:
    return RemoteFolder(f"{(tmp_path / 'shared').as_uri()}/")


def test_a_file_is_there_when_it_is_complete(folder: RemoteFolder) -> None:
    folder.write("inner/one", b"1")

    with folder.writing("two") as file:
        file.write(b"2")
        assert folder.size_of("two") is None

    assert folder.files(deep=True) == {"inner/one": 1, "two": 1}
    assert folder.files() == {"two": 1}
    assert folder.inner("inner").read("one") == b"1"


def test_nothing_is_left_of_a_file_whose_writer_fails(folder: RemoteFolder) -> None:
    def fails() -> None:
        with folder.writing("two") as file:
            file.write(b"2")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()

    assert folder.files(deep=True) == {}


def test_files_are_read_from_any_place_fetched_sent_and_removed(folder: RemoteFolder, tmp_path: Path) -> None:
    (tmp_path / "local").write_bytes(b"0123456789")
    folder.send(tmp_path / "local", "sent")

    with folder.opened("sent") as file:
        file.seek(4)
        assert file.read(3) == b"456"
    folder.fetch("sent", tmp_path / "new" / "copy")
    assert (tmp_path / "new" / "copy").read_bytes() == b"0123456789"
    folder.remove("sent")
    folder.remove("sent")
    assert folder.files() == {}
    with pytest.raises(FileNotFoundError):
        folder.read("sent")


def test_paths_are_no_addresses_and_keys_are_not_shown() -> None:
    assert [is_address(place) for place in ("s3://a/b", "a/b", Path("s3://a"))] == [True, False, False]
    assert without_keys("s3://key:secret@bucket/in/a.csv?region=x") == "s3://bucket/in/a.csv"
    assert without_keys("runs/a?b@c") == "runs/a?b@c"
    with pytest.raises(PathUnusable) as raised:
        RemoteFolder("nowhere://key:secret@bucket/a").files()
    assert "secret" not in str(raised.value)
