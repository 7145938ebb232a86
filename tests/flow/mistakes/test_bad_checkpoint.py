"""Teachers that are not there, or not safe to load: said at once, after which the run goes on where it was."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_a_checkpoint_that_is_nowhere_is_reported_with_what_was_tried(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch, tiny_teacher_folder: Path
) -> None:
    monkeypatch.chdir(tiny_teacher_folder.parent)
    near = f"{tiny_teacher_folder.name}x"

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher.checkpoint={near}")

    assert answer.refused_with(f"no teacher checkpoint '{near}' (did you mean '{tiny_teacher_folder.name}'?)")
    assert answer.refused_with("not a folder here", "HF_HUB_OFFLINE is set", "Give the path of a Hugging Face folder")
    assert list(answer.steps("✓")) == ["corpus", "transfer"]


def test_pickled_weights_are_not_loaded(toy: Any, limbeck: Command, tiny_teacher_copy: Path) -> None:
    (tiny_teacher_copy / "model.safetensors").rename(tiny_teacher_copy / "pytorch_model.bin")

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher.checkpoint={tiny_teacher_copy}")

    assert answer.refused_with(
        str(tiny_teacher_copy), "found: pytorch_model.bin", "never loads pickles", "save_pretrained"
    )


def test_weights_cut_short_are_reported_with_their_folder(toy: Any, limbeck: Command, tiny_teacher_copy: Path) -> None:
    weights = tiny_teacher_copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher.checkpoint={tiny_teacher_copy}")

    assert answer.refused_with(
        f"cannot load the teacher from '{tiny_teacher_copy}'", "Download or install the checkpoint again"
    )


def test_a_run_whose_teacher_is_made_does_not_miss_the_checkpoint(
    toy: Any, limbeck: Command, tiny_teacher_copy: Path
) -> None:
    """The same files at another place are the same teacher."""
    shutil.rmtree(toy.run / "labels")

    answer = limbeck("run", toy.recipe, "--out", toy.run, "--set", f"teacher.checkpoint={tiny_teacher_copy}")

    assert answer.code == 0
    assert list(answer.steps("▸")) == ["labels"]
