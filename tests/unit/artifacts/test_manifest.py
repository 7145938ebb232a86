"""The manifest lists what an artifact holds and what made it, and is read with suspicion."""

import json
from pathlib import Path

import pytest

from limbeck.artifacts.manifest import (
    FORMATS,
    MANIFEST,
    FormatTooNew,
    FormatTooOld,
    Key,
    faults_of,
    file_digest,
    fingerprint_of,
    read_manifest,
    write_manifest,
)
from limbeck.errors import ArtifactMissing

KEY = Key(section={"epochs": 3}, inputs={"corpus": "c1"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("two", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    return tmp_path


def rewrite(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, **changes}), encoding="utf-8")


def test_what_is_written_is_read(folder: Path) -> None:
    written = write_manifest(folder, kind="corpus", key=KEY)

    assert read_manifest(folder, kind="corpus") == written
    assert list(written.files) == ["a.txt", "b.txt"]
    assert written.files["a.txt"]["bytes"] == 3


def test_the_fingerprint_is_that_of_the_contents(folder: Path) -> None:
    first = write_manifest(folder, kind="corpus", key=KEY)
    again = write_manifest(folder, kind="corpus", key=Key(section={"epochs": 9}, inputs={}))
    (folder / "a.txt").write_text("ONE", encoding="utf-8")
    changed = write_manifest(folder, kind="corpus", key=KEY)
    (folder / "a.txt").write_text("one", encoding="utf-8")
    (folder / "a.txt").rename(folder / "c.txt")
    renamed = write_manifest(folder, kind="corpus", key=KEY)

    assert first.fingerprint == again.fingerprint
    assert len({first.fingerprint, changed.fingerprint, renamed.fingerprint}) == 3


def test_fingerprints_are_the_same_in_every_version() -> None:
    """Runs on disk count on these: changing them makes everybody's artifacts stale."""
    assert KEY.digest() == "848090c8273ad239d410117f80a8ad44"


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    one = Key(section={"a": 1, "b": {"c": 2, "d": 3}}, inputs={"x": "1", "y": "2"})
    other = Key(section={"b": {"d": 3, "c": 2}, "a": 1}, inputs={"y": "2", "x": "1"})

    assert one.digest() == other.digest()


def test_a_digest_tells_values_of_different_types_apart() -> None:
    digests = {Key(section={"a": value}, inputs={}).digest() for value in (1, 1.5, "1", True, None, [1])}

    assert len(digests) == 6


def test_a_file_is_hashed_in_pieces_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (3 << 20))
    (tmp_path / "bigger").write_bytes(b"x" * ((3 << 20) + 1))

    assert file_digest(tmp_path / "big") != file_digest(tmp_path / "bigger")
    assert len(file_digest(tmp_path / "big")) == 32


def test_no_manifest_is_no_artifact(folder: Path) -> None:
    with pytest.raises(ArtifactMissing, match=r"is not a corpus: it has no manifest\.json\nMake one\.$"):
        read_manifest(folder, kind="corpus", advice="Make one.")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"kind": "corpus"}', '{"kind": "corpus", "format": 2}', "\x00"])
def test_a_damaged_manifest_is_said_to_be_unreadable(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text, encoding="utf-8")

    with pytest.raises(ArtifactMissing, match=r"its manifest\.json cannot be read"):
        read_manifest(folder, kind="corpus")


def test_another_kind_of_artifact_is_named(folder: Path) -> None:
    write_manifest(folder, kind="teacher", key=KEY)

    with pytest.raises(ArtifactMissing, match="is not a corpus: it is a teacher"):
        read_manifest(folder, kind="corpus")


def test_an_older_format_is_refused_and_the_advice_is_the_callers(folder: Path) -> None:
    write_manifest(folder, kind="corpus", key=KEY)
    rewrite(folder, format=FORMATS["corpus"] - 1)

    with pytest.raises(FormatTooOld, match="this Limbeck reads format 2\nDo this"):
        read_manifest(folder, kind="corpus", advice="Do this.")


def test_a_newer_format_is_refused_even_when_it_has_keys_we_do_not_know(folder: Path) -> None:
    write_manifest(folder, kind="corpus", key=KEY)
    rewrite(folder, format=FORMATS["corpus"] + 1, unheard_of=True)

    with pytest.raises(FormatTooNew, match="pip install --upgrade limbeck"):
        read_manifest(folder, kind="corpus")


def test_faults_are_listed_for_every_file(folder: Path) -> None:
    manifest = write_manifest(folder, kind="corpus", key=KEY)
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("TWO", encoding="utf-8")

    assert faults_of(folder, manifest) == ["a.txt is missing", "b.txt has changed since it was written"]


def test_a_file_that_came_later_is_no_fault(folder: Path) -> None:
    manifest = write_manifest(folder, kind="corpus", key=KEY)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")

    assert faults_of(folder, manifest) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"fingerprint": "0" * 32},
        {"files": ["a.txt"]},
        {"files": {"a.txt": None}},
        {"files": {}},
        {"key": None},
        {"key": {"section": 3, "inputs": {}}},
        {"key": {"section": {}, "inputs": None}},
    ],
)
def test_a_manifest_that_does_not_add_up_is_said_to_be_unreadable(folder: Path, changes: dict[str, object]) -> None:
    write_manifest(folder, kind="corpus", key=KEY)
    rewrite(folder, **changes)

    with pytest.raises(ArtifactMissing, match=r"its manifest\.json cannot be read"):
        read_manifest(folder, kind="corpus")


def test_files_of_inner_folders_are_listed_by_their_path(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "c.txt").write_text("three", encoding="utf-8")

    manifest = write_manifest(folder, kind="model", key=KEY)

    assert list(manifest.files) == ["a.txt", "b.txt", "inner/c.txt"]
    assert faults_of(folder, read_manifest(folder, kind="model")) == []
    (folder / "inner" / "c.txt").unlink()
    assert faults_of(folder, manifest) == ["inner/c.txt is missing"]


@pytest.mark.parametrize("name", ["../b.txt", "inner/../../b.txt", "/etc/hosts"])
def test_a_manifest_that_lists_files_outside_of_its_folder_is_refused(folder: Path, name: str) -> None:
    written = write_manifest(folder, kind="model", key=KEY)
    facts = written.files["b.txt"]
    rewrite(folder, files={name: facts}, fingerprint=fingerprint_of(f"{name} {facts['blake2b']}"))

    with pytest.raises(ArtifactMissing, match=r"manifest.json cannot be read"):
        read_manifest(folder, kind="model")
