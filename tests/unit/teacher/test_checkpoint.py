"""Finding a checkpoint, and saying clearly when there is none."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from limbeck.errors import CheckpointDamaged, CheckpointNotFound, WeightsNotSafe
from limbeck.teacher import checkpoint as checkpoints
from limbeck.teacher.checkpoint import OFFLINE_PACKAGES, find_checkpoint


def test_a_folder_is_taken_as_it_is(tiny_teacher_folder: Path) -> None:
    assert find_checkpoint(str(tiny_teacher_folder)) == tiny_teacher_folder


def test_a_name_that_is_nowhere_is_an_error_that_says_what_was_tried() -> None:
    with pytest.raises(CheckpointNotFound) as raised:
        find_checkpoint("all-MiniLM-L6-v3")

    message = str(raised.value)
    assert "not a folder here" in message
    assert "the hub:" in message
    assert "did you mean 'all-MiniLM-L6-v2'?" in message


def test_pickled_weights_are_refused_by_name(tiny_teacher_copy: Path) -> None:
    (tiny_teacher_copy / "model.safetensors").rename(tiny_teacher_copy / "pytorch_model.bin")

    with pytest.raises(WeightsNotSafe, match=r"pytorch_model\.bin"):
        find_checkpoint(str(tiny_teacher_copy))


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointDamaged, match=r"config\.json"):
        find_checkpoint(str(tmp_path))


def test_an_offline_package_with_other_weights_than_upstream_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = OFFLINE_PACKAGES["all-MiniLM-L6-v2"]
    (tmp_path / package.folder).mkdir()
    (tmp_path / package.folder / "model.safetensors").write_bytes(b"something else")
    spec = ModuleSpec(package.module, None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(checkpoints, "find_spec", lambda name: spec if name == package.module else None)

    with pytest.raises(CheckpointDamaged, match="sha256"):
        find_checkpoint("sentence-transformers/all-MiniLM-L6-v2")
