"""A model folder that somebody else wrote is refused with a LimbeckError, or it answers; nothing else happens."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import limbeck
from limbeck.artifacts.manifest import MANIFEST, Key, fingerprint_of, write_manifest
from limbeck.errors import ArtifactDamaged, ArtifactMissing, LimbeckError


@pytest.fixture
def copied(model_folder: Path, tmp_path: Path) -> Path:
    """A model to change."""
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    return folder


def signed(folder: Path) -> Path:
    """With a new manifest, as anybody can write one."""
    (folder / MANIFEST).unlink(missing_ok=True)
    write_manifest(folder, kind="model", key=Key(section={}, inputs={}))
    return folder


def with_facts(folder: Path, **changes: Any) -> Path:
    card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    (folder / "model.json").write_text(json.dumps(card | changes), encoding="utf-8")
    return signed(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"temperature": 0},
        {"temperature": -1.0},
        {"temperature": "1"},
        {"temperature": 1e999},
        {"labels": []},
        {"labels": ["one", "one"]},
        {"labels": ["negative", "positive", "neither", "both"]},
        {"labels": "negative"},
        {"max_length": 0},
        {"max_length": 1 << 60},
        {"pair": 1},
        {"precision": "fp64"},
        {"tokenizer": "pickled"},
        {"parameters": -1},
        {"parameters": 10**400},
        {"temperature": 10**400},
        {"temperature": 5e-324},
        {"temperature": 1e308},
        {"labels": ["negative", "\ud800x", "positive"]},
        {"labels": ["negative", "neutral", "p" * 1001]},
        {"name": "\ud800"},
        {"kind": "nope"},
        {"kind": "blend"},
        {"kind": []},
        {"kind": "k" * 3_000_000},
        {"tokenizer": "framed"},
        {"precision": ["fp32"]},
        {"members": [{"folder": "x"}]},
        {"members": [{"folder": "x", "weight": 10**400}]},
        {"members": [{"folder": "x", "weight": 1e308}, {"folder": "y", "weight": 0.5}]},
        {"members": [{"folder": "x", "weight": -0.5}, {"folder": "y", "weight": 1.5}]},
        {"members": [{"folder": "x", "weight": 0}, {"folder": "y", "weight": 0}]},
        {"members": [{"folder": "x", "weight": 0.5}, {"folder": "x", "weight": 0.5}]},
        {"members": [{"folder": "x", "weight": 0.5}] * 1000},
        {"call": "os:system"},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_facts_that_no_model_has_are_refused_by_name(copied: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ArtifactDamaged) as refused:
        limbeck.load(with_facts(copied, **changes))

    (key,) = changes
    assert key in str(refused.value)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(("key", "value"), [("kind", "textcnn"), ("precision", "int8")])
@pytest.mark.parametrize("engine", ["auto", "onnx"])
def test_a_kind_or_precision_that_is_not_that_of_the_network_is_refused(
    copied: Path, key: str, value: str, engine: Any
) -> None:
    with pytest.raises(ArtifactDamaged, match=f"its network is not (of the kind|in) {value}"):
        limbeck.load(with_facts(copied, **{key: value}), engine=engine)


def test_a_member_that_is_a_blend_is_refused(copied: Path) -> None:
    inside = Path(shutil.copytree(copied, copied / "a"))
    for name in ("model.onnx", "tokenizer.json", "a/manifest.json", "a/profile.json"):
        (copied / name).unlink()
    shutil.copytree(inside, inside / "hidden")
    members = {"kind": "blend", "members": [{"folder": "a", "weight": 1.0}]}
    for folder, member in ((copied, "a"), (inside, "hidden")):
        members["members"] = [{"folder": member, "weight": 1.0}]
        card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        (folder / "model.json").write_text(json.dumps(card | members), encoding="utf-8")
    signed(copied)
    forget(copied, "a/hidden/")

    with pytest.raises(ArtifactDamaged, match="is a blend itself"):
        limbeck.load(copied)


def forget(folder: Path, prefix: str) -> None:
    """Files that the manifest does not list."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    files = {name: facts for name, facts in manifest["files"].items() if not name.startswith(prefix)}
    relisted(folder, files)


def relisted(folder: Path, files: dict[str, Any]) -> None:
    """A manifest that lists these files and adds up."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    fingerprint = fingerprint_of("\n".join(f"{name} {facts['blake2b']}" for name, facts in files.items()))
    changed = manifest | {"files": files, "fingerprint": fingerprint}
    (folder / MANIFEST).write_text(json.dumps(changed), encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["a\u0000b", "a" * 300, "a" * 5_000, "\ud800", "/".join(["a" * 200] * 30), "a/" * 3_000]
)
def test_a_manifest_with_a_name_that_no_file_can_have_is_refused(copied: Path, name: str) -> None:
    files = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))["files"]
    facts = {"bytes": 1, "blake2b": "0" * 32}
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    digests = "\n".join(f"{one} {its['blake2b']}" for one, its in {**files, name: facts}.items())
    fingerprint = fingerprint_of(digests.encode("utf-8", "replace").decode())
    changed = manifest | {"files": {**files, name: facts}, "fingerprint": fingerprint}
    (copied / MANIFEST).write_text(json.dumps(changed), encoding="utf-8")

    with pytest.raises(LimbeckError):
        limbeck.load(copied)


@pytest.mark.parametrize("name", ["model.json", "model.onnx", "tokenizer.json", "profile.json", MANIFEST])
def test_a_link_to_itself_is_refused(copied: Path, name: str) -> None:
    (copied / name).unlink()
    (copied / name).symlink_to(name)

    with pytest.raises(LimbeckError):
        limbeck.load(copied)


def test_a_manifest_that_is_a_link_to_a_file_elsewhere_is_refused(copied: Path) -> None:
    elsewhere = (copied / MANIFEST).rename(copied.parent / "elsewhere.json")
    (copied / MANIFEST).symlink_to(elsewhere)

    with pytest.raises(ArtifactDamaged, match=r"manifest\.json is a link to a file outside"):
        limbeck.load(copied)


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3_000, "a\0b", "\ud800"])
def test_a_name_that_no_folder_can_have_is_an_error(name: str) -> None:
    with pytest.raises(ArtifactMissing, match="there is no such folder"):
        limbeck.load(name)


@pytest.mark.parametrize("name", ["model.json", "model.onnx", "tokenizer.json", "profile.json", "other.bin"])
def test_a_file_of_a_hundred_gigabytes_is_refused_before_it_is_read(copied: Path, name: str) -> None:
    files = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))["files"]
    with (copied / name).open("ab") as file:
        file.truncate(100 << 30)  # a sparse file, which takes no space
    relisted(copied, {**files, name: {"bytes": 100 << 30, "blake2b": "0" * 32}})

    with pytest.raises(ArtifactDamaged, match=r"at most|which no model has"):
        limbeck.load(copied)


def test_a_manifest_with_a_hundred_thousand_files_is_refused_before_they_are_read(copied: Path) -> None:
    relisted(copied, {f"{n}/model.onnx": {"bytes": 1, "blake2b": ""} for n in range(100_000)})

    with pytest.raises(ArtifactDamaged, match="lists 100,000 files, which no model has"):
        limbeck.load(copied)


def test_the_kind_of_a_manifest_is_not_repeated_in_full(copied: Path) -> None:
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    (copied / MANIFEST).write_text(json.dumps(manifest | {"kind": "k" * 3_000_000}), encoding="utf-8")

    with pytest.raises(ArtifactMissing) as refused:
        limbeck.load(copied)

    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("content", ["[]", "null", "{", '{"labels": ' + "[" * 100_000, ""])
@pytest.mark.parametrize("name", ["model.json", "profile.json"])
def test_a_json_file_that_is_none_is_refused(copied: Path, name: str, content: str) -> None:
    (copied / name).write_text(content, encoding="utf-8")

    with pytest.raises(ArtifactDamaged, match=name.replace(".", r"\.")):
        limbeck.load(signed(copied))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1e400},
        {"format": None},
        {"format": "3"},
        {"format": 3.7},
        {"format": 3.0},
        {"format": True},
        {"format": 10**400},
        {"kind": ["model"]},
        {"files": {}},
        {"files": {"model.json": {}}},
        {"files": {"../model.json": {"bytes": 1, "blake2b": ""}}},
    ],
    ids=str,
)
def test_a_manifest_that_is_none_is_refused(copied: Path, change: dict[str, Any]) -> None:
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    (copied / MANIFEST).write_text(json.dumps(manifest | change), encoding="utf-8")

    with pytest.raises(ArtifactMissing):
        limbeck.load(copied)


def test_the_manifest_lists_what_a_model_needs_and_nothing_else(copied: Path) -> None:
    (copied / "setup.py").write_text("", encoding="utf-8")
    with pytest.raises(ArtifactDamaged, match=r"setup\.py, which no model has"):
        limbeck.load(signed(copied))

    (copied / "setup.py").unlink()
    hidden = (copied / "tokenizer.json").rename(copied.parent / "tokenizer.json")
    signed(copied)
    shutil.copy(hidden, copied / "tokenizer.json")
    with pytest.raises(ArtifactDamaged, match=r"tokenizer\.json is not in its manifest"):
        limbeck.load(copied)


@pytest.mark.parametrize("name", ["model.json", "model.onnx", "tokenizer.json", "profile.json", MANIFEST])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(copied: Path, name: str) -> None:
    (copied / name).unlink()
    os.mkfifo(copied / name)

    with pytest.raises(LimbeckError):
        limbeck.load(copied)


def test_a_link_to_a_file_elsewhere_is_refused(copied: Path) -> None:
    elsewhere = (copied / "tokenizer.json").rename(copied.parent / "elsewhere.json")
    (copied / "tokenizer.json").symlink_to(elsewhere)

    with pytest.raises(ArtifactDamaged, match="a link to a file outside"):
        limbeck.load(signed(copied))


def test_a_folder_that_is_itself_a_link_is_a_folder(copied: Path) -> None:
    link = copied.parent / "link"
    link.symlink_to(copied)

    assert limbeck.load(link).predict(["a gorgeous film"])
