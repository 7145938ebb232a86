"""Places that cannot be written to: full disks, files in the way, closed and busy folders, folders of other things."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from safetensors import SafetensorError

Command = Callable[..., Any]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
RUST = "I/O error: No space left on device (os error 28)"
STUDENT, EXPORT = "students/bilstm/0", "exports/bilstm-int8/0"
FULL_DISKS = [  # artifact to be made again, what writes it, and what that raises on a full disk
    ("corpus", "limbeck.artifacts.rows.Rows.save", FULL),
    ("transfer", "limbeck.artifacts.rows.Rows.save", FULL),
    ("teacher", "limbeck.training.checkpoints.save_file", SafetensorError(f"Error while serializing: {RUST}")),
    ("teacher", "limbeck.teacher.encoder.Encoder.save", SafetensorError(f"Error while serializing: {RUST}")),
    ("labels", "limbeck.labeling.run.LabelsWriter.write", OSError(errno.ENOSPC, "Error writing bytes to file")),
    ("vocabulary", "numpy.save", OSError("540 requested and 0 written")),
    ("vocabulary", "limbeck.text.student_tokenizer.StudentTokenizer.save", Exception(RUST)),
    (STUDENT, "limbeck.distillation.run.save_student_facts", OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))),
    (EXPORT, "limbeck.export.run.onnx.save_model", FULL),
    ("models/bilstm", "shutil.copyfile", FULL),
    ("report", "limbeck.pipeline.evaluation.save_report", FULL),
    ("report", "limbeck.artifacts.atomic_folder.write_manifest", FULL),
]


def raising(error: Exception) -> Callable[..., NoReturn]:
    """A writer on a full disk."""

    def write(*_: object, **__: object) -> NoReturn:
        raise error

    return write


@pytest.mark.parametrize(("artifact", "writer", "error"), FULL_DISKS)
def test_a_full_disk_is_called_so_and_the_run_goes_on_once_there_is_space(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch, artifact: str, writer: str, error: Exception
) -> None:
    before = toy.manifests
    shutil.rmtree(toy.run / artifact)

    with monkeypatch.context() as full:
        full.setattr(writer, raising(error))
        assert limbeck("run", toy.recipe, "--out", toy.run).refused_with("no space left on the disk", "Free some space")
    kept = toy.manifests
    answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert kept == {name: made for name, made in before.items() if name != artifact}
    assert answer.code == 0
    assert list(answer.steps("▸")) == [artifact]


def test_a_full_disk_takes_neither_the_recipe_nor_the_story_of_the_run(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: (toy.run / name).read_text(encoding="utf-8") for name in ("recipe.toml", "run.json")}

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", raising(FULL))
        assert limbeck("run", toy.recipe, "--out", toy.run).refused_with("no space left on the disk", str(toy.run))

    assert {name: (toy.run / name).read_text(encoding="utf-8") for name in kept} == kept


def test_a_file_where_the_run_folder_should_be_is_left_alone(toy: Any, limbeck: Command) -> None:
    file = toy.folder / "data" / "toy.csv"
    content = file.read_bytes()

    assert limbeck("run", toy.recipe, "--out", file).refused_with(f"cannot use '{file}': file exists", "--out")
    assert limbeck("run", toy.recipe, "--out", file / "run").refused_with("not a directory", "--out")

    assert file.read_bytes() == content


def test_a_folder_of_other_things_is_not_worked_in(toy: Any, limbeck: Command) -> None:
    """An artifact would take the place of a folder that happens to have its name."""
    precious = toy.folder / "mine" / "corpus" / "years-of-work.csv"
    precious.parent.mkdir(parents=True)
    precious.write_text("text,label\n", encoding="utf-8")

    answer = limbeck("run", toy.recipe, "--out", toy.folder / "mine")

    assert answer.refused_with(
        f"cannot use '{toy.folder / 'mine'}'", "it is not a run", "(corpus)", "a new or an empty folder"
    )
    assert list((toy.folder / "mine").rglob("*.*")) == [precious]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_run_folder_that_may_not_be_written_is_refused(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Raised by hand, because root, which runs many tests, may write everywhere."""
    closed = toy.folder / "closed"

    with monkeypatch.context() as denied:
        denied.setattr(Path, "mkdir", raising(OSError(number, os.strerror(number), str(closed))))
        answer = limbeck("run", toy.recipe, "--out", closed)

    assert answer.refused_with(f"cannot use '{closed}': {os.strerror(number).lower()}", "another folder with --out")


def test_an_artifact_that_may_not_be_written_is_named(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(toy.run / "labels")
    place = str(toy.run / "labels.partial" / "labels.json")

    with monkeypatch.context() as denied:
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
        denied.setattr("limbeck.labeling.run.save_label_facts", raising(error))
        assert limbeck("run", toy.recipe, "--out", toy.run).refused_with(f"cannot use '{place}': permission denied")

    assert list(limbeck("run", toy.recipe, "--out", toy.run).steps("▸")) == ["labels"]


def test_two_runs_in_one_folder_do_not_mix(toy: Any, limbeck: Command) -> None:
    with (toy.run / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        answer = limbeck("run", toy.recipe, "--out", toy.run)

    assert answer.refused_with(f"another limbeck is working in '{toy.run}'", "Wait for it to end", "--out")
    assert limbeck("run", toy.recipe, "--out", toy.run).code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full here")
@pytest.mark.parametrize("arguments", [["predict", "{model}", "{rows}"], ["recipes"]])
def test_a_full_disk_behind_standard_output_is_called_so(model: Path, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "rows.txt").write_text("gorgeous\n", encoding="utf-8")
    filled = [part.format(model=model, rows=tmp_path / "rows.txt") for part in arguments]

    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "limbeck", *filled]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("limbeck: no space left on the disk while writing 'the output'\n")
    assert len(done.stderr.splitlines()) == 2
