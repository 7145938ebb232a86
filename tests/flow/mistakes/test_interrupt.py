"""Ctrl-C in the middle of a run: one line, no traceback, and the same command continues there."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]


def test_a_run_stopped_with_ctrl_c_says_so_in_one_line_and_goes_on_later(
    write_recipe: Callable[[Path], Path], tmp_path: Path, limbeck: Command
) -> None:
    recipe = write_recipe(tmp_path / "data")
    arguments = ["run", str(recipe), "--out", str(tmp_path / "run"), "--until", "labeling"]
    command = [sys.executable, "-m", "limbeck", *arguments, "--set", "teacher.epochs=10000"]

    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as run:
        assert run.stderr is not None
        said = [next(run.stderr)]
        while not said[-1].startswith("▸ teacher"):
            said.append(next(run.stderr))
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    again = limbeck(*arguments)

    assert run.returncode == 130
    assert "Traceback" not in rest
    assert rest.splitlines()[-1] == (
        "limbeck: stopped. Everything finished so far is kept; the same command continues there"
    )
    assert again.code == 0
    assert list(again.steps("✓")) == ["corpus", "transfer"]
    assert list(again.steps("▸")) == ["teacher", "labels", "chosen"]
