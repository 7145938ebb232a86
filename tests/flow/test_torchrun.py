"""`torchrun -m limbeck run`: one run, trained by all processes; killed, continued by another number, and the same."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage

TOLERANCE = 1e-4  # of weights, after 69 steps
QUICK = ["teacher.epochs=2", "teacher.near_chance='warn'", "distillation.epochs=3", "student.dropout=0.0"]
STUDENT = "students/bilstm/0"
STEPS = 23  # of an epoch: 360 rows in batches of 16, the last of 8; three processes share none of them evenly

# A loss that notes the steps of the first process, and ends the second in the second epoch if it is told to.
LOSS = """
import os, signal
from pathlib import Path
from torch.nn import functional as F

CALLS = 0

def mse(student_logits, teacher_logits, labels, folder):
    global CALLS
    CALLS += 1
    if os.environ.get("RANK", "0") == "0":
        with Path(folder, "steps").open("a") as steps:
            steps.write(".")
    if CALLS == 30 and os.environ.get("RANK") == "1" and Path(folder, "accident").exists():
        Path(folder, "accident").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return F.mse_loss(student_logits, teacher_logits)
"""


@pytest.fixture
def labelled(write_recipe: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that has come as far as its labels, and the module of the loss, in a folder that processes look into."""
    recipe = write_recipe(tmp_path / "data")
    (tmp_path / "toy_loss.py").write_text(LOSS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    run(recipe, overrides=QUICK, out=tmp_path / "labelled", until=Stage.LABELING, reporter=SilentReporter())
    return tmp_path


def settings(folder: Path) -> list[str]:
    loss = f"{{kind='custom', call='toy_loss:mse', options={{folder='{folder}'}}}}"
    return [*QUICK, "distillation.baseline=false", f"distillation.losses=[{loss}]"]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / STUDENT / "model.safetensors")


def test_a_process_that_is_killed_ends_the_command_and_three_others_continue_to_the_same_student(
    labelled: Path,
) -> None:
    recipe, changes = labelled / "data" / "toy.toml", settings(labelled)
    alone, together = (Path(shutil.copytree(labelled / "labelled", labelled / name)) for name in ("alone", "together"))
    options = {"until": Stage.DISTILLATION, "reporter": SilentReporter(), "allow_custom_code": True}
    run(recipe, overrides=changes, out=alone, **options)  # type: ignore[arg-type]
    (labelled / "steps").unlink()
    (labelled / "accident").touch()
    sets = [part for change in changes for part in ("--set", change)]
    limbeck = ["-m", "limbeck", "run", str(recipe), "--out", str(together), "--until", "distillation", *sets]

    torchrun = ["torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
    command = [sys.executable, "-m", *torchrun, *limbeck, "--allow-custom-code"]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    run(recipe, overrides=[*changes, "distillation.processes=3"], out=together, **options)  # type: ignore[arg-type]

    assert killed.returncode != 0
    assert "limbeck: process 2 of 2 that train together was ended by signal 9 (SIGKILL)" in killed.stderr
    assert "continues from the last checkpoint" in killed.stderr
    assert not (labelled / "accident").exists()
    assert 29 <= len((labelled / "steps").read_text()) - 2 * STEPS <= 30  # the first epoch was not repeated
    for name, weight in weights(alone).items():
        torch.testing.assert_close(weights(together)[name], weight, atol=TOLERANCE, rtol=0.0)
    histories = [json.loads((out / STUDENT / "history.json").read_text()) for out in (alone, together)]
    for one, other in zip(*histories, strict=True):
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-3)
