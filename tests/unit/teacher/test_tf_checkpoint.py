"""Which TensorFlow checkpoint is meant: by its prefix, by one of its files, or by its folder."""

from pathlib import Path

import pytest

from limbeck.teacher.tf_weights import TensorFlowCheckpointNotFound, find_tf_checkpoint


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("checkpoint", "model.ckpt-60.index", "model.ckpt-60.meta", "model.ckpt-60.data-00000-of-00002"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["", "model.ckpt-60", "model.ckpt-60.index", "model.ckpt-60.meta", "model.ckpt-60.data-00000-of-00002"],
)
def test_one_checkpoint_has_several_names(folder: Path, name: str) -> None:
    assert find_tf_checkpoint(folder / name) == folder / "model.ckpt-60"


def test_the_current_folder_can_be_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    assert find_tf_checkpoint(Path()) == Path("model.ckpt-60")


def test_of_several_checkpoints_one_has_to_be_named(folder: Path) -> None:
    (folder / "model.ckpt-90.index").touch()

    with pytest.raises(TensorFlowCheckpointNotFound, match="the folder has 2") as caught:
        find_tf_checkpoint(folder)

    assert caught.value.checkpoints == (str(folder / "model.ckpt-60"), str(folder / "model.ckpt-90"))
    assert find_tf_checkpoint(folder / "model.ckpt-90") == folder / "model.ckpt-90"


def test_a_name_that_is_nearly_right_is_corrected(folder: Path) -> None:
    with pytest.raises(TensorFlowCheckpointNotFound, match=r"it does not exist \(did you mean '.*model.ckpt-60'\?\)"):
        find_tf_checkpoint(folder / "model.ckpt-61")


@pytest.mark.parametrize(
    ("name", "reason"), [(".", "the folder has none"), ("missing/model.ckpt", "it does not exist")]
)
def test_where_there_is_none_that_is_said(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(TensorFlowCheckpointNotFound, match=reason) as caught:
        find_tf_checkpoint(tmp_path / name)

    assert "no file that ends in .index" in str(caught.value)
