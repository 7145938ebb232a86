"""A model folder that somebody else wrote is refused with a LimbeckError, or it answers; nothing else happens."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import limbeck
from limbeck.artifacts.manifest import MANIFEST, Key, write_manifest
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
        {"members": [{"folder": "x"}]},
        {"call": "os:system"},
    ],
    ids=str,
)
def test_facts_that_no_model_has_are_refused_by_name(copied: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ArtifactDamaged) as refused:
        limbeck.load(with_facts(copied, **changes))

    (key,) = changes
    assert key in str(refused.value)


@pytest.mark.parametrize("content", ["[]", "null", "{", '{"labels": ' + "[" * 100_000, ""])
def test_a_model_json_that_is_none_is_refused(copied: Path, content: str) -> None:
    (copied / "model.json").write_text(content, encoding="utf-8")

    with pytest.raises(ArtifactDamaged, match=r"model\.json"):
        limbeck.load(signed(copied))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1e400},
        {"format": None},
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


@pytest.mark.parametrize("name", ["model.json", "model.onnx", "tokenizer.json", MANIFEST])
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
