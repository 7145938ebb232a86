"""`kill -9` in every stage, one after the other, in one run: it ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.flow.run_contents import fingerprints, numbers

DIES_AT = Path(__file__).with_name("dies_at.py")
POINTS = (
    "manifest:corpus",
    "rename:corpus",
    "manifest:transfer",
    "checkpoint:teacher:4",
    "checkpoint:teacher:25",
    "manifest:teacher",
    "shard:1",
    "shard:2",
    "manifest:labels",
    "manifest:vocabulary",
    "checkpoint:bilstm-alone/0:7",
    "checkpoint:bilstm/0:40",
    "rename:students/bilstm/0",
    "manifest:exports/bilstm/0",
    "manifest:models/bilstm-int8",
    "manifest:rival",
    "manifest:report",
    "manifest:models/best",
)


def statuses(commands: list[tuple[str, list[str]]]) -> list[int]:
    """Of limbeck commands, each in a process that is killed at a point; see dies_at.py."""
    command = [sys.executable, str(DIES_AT), json.dumps(commands)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)
    return found


def test_a_run_killed_in_every_stage_ends_with_the_same_numbers(
    write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    recipe = str(write_recipe(tmp_path / "data"))
    undisturbed, killed = tmp_path / "one" / "toy", tmp_path / "two" / "toy"
    outs = [undisturbed, *(killed for _ in POINTS), killed]

    found = statuses(
        [
            (point, ["run", recipe, "--out", str(out)])
            for point, out in zip(("never", *POINTS, "never"), outs, strict=True)
        ]
    )

    assert found == [0, *(-signal.SIGKILL for _ in POINTS), 0]
    assert fingerprints(killed) == fingerprints(undisturbed)
    assert numbers(killed) == numbers(undisturbed)
    assert not list(killed.rglob("*.partial"))
