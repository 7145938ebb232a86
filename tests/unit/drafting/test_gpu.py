"""Telling a GPU without torch."""

from pathlib import Path

import pytest

from limbeck.drafting import draft


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with NVIDIA's driver, one GPU and a torch that is built for it; the folder of its GPUs."""
    (tmp_path / "gpus" / "0000:00:1e.0").mkdir(parents=True)
    monkeypatch.setattr(draft, "DRIVER", tmp_path / "gpus")
    monkeypatch.setattr(draft, "version", lambda _: "2.8.0+cu128")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path / "gpus"


def test_the_driver_tells_of_a_gpu(machine: Path) -> None:
    there = draft.has_gpu()
    next(machine.iterdir()).rmdir()

    assert there
    assert not draft.has_gpu()


@pytest.mark.parametrize(("found", "there"), [("/usr/lib/wsl/lib/nvidia-smi", True), (None, False)])
def test_without_the_drivers_folder_its_command_tells(
    monkeypatch: pytest.MonkeyPatch, found: str | None, there: bool
) -> None:
    monkeypatch.setattr(draft, "DRIVER", Path("no such folder"))
    monkeypatch.setattr("shutil.which", lambda _: found)

    assert draft.has_gpu() == there


@pytest.mark.parametrize(("visible", "there"), [("", False), ("-1", False), ("0,1", True)])
def test_a_hidden_gpu_is_none(monkeypatch: pytest.MonkeyPatch, visible: str, there: bool) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    assert draft.has_gpu() == there


def test_a_torch_for_the_cpu_alone_has_no_use_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "version", lambda _: "2.8.0+cpu")

    assert not draft.has_gpu()
