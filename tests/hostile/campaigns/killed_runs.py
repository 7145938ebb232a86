"""`python -m tests.hostile.campaigns.killed_runs ORDER`: one run, killed at random moments and continued until it ends.

ORDER is JSON: {"recipe", "out", "seed", "kills", "seconds" (that a whole run takes), "limit" (for one process)}. Each
process is forked from this one, which has imported the heavy modules and done nothing else, and is killed from outside.
Printed is JSON: {"killed_in": [the stage at each kill], "status": of the last process, "seconds": that it took}.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import limbeck.pipeline  # noqa: F401  # with all that a run imports later
import limbeck.training.loop as loop
from limbeck.cli import main as limbeck_command
from limbeck.timing import costs
from tests.flow.dies_at import made_up_times

OFTEN = 0.0  # seconds between checkpoints: after every step, so that a kill in the middle of an epoch has one
TIMED_OUT = "it did not end"


def main() -> None:
    """Kill and continue, then let it end."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    chance = random.Random(order["seed"])
    arguments = ["run", order["recipe"], "--out", order["out"]]
    killed_in: list[str] = []
    while len(killed_in) < order["kills"]:
        process = _started(arguments, often=chance.random() < 0.5)
        if _wait(process, seconds=chance.uniform(0.0, order["seconds"])) is not None:
            break  # it ended before its kill
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        killed_in.append(_stage(Path(order["out"])))
    started = time.monotonic()
    process = _started(arguments, often=False)
    status = _wait(process, seconds=order["limit"])
    if status is None:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    found = {"killed_in": killed_in, "status": TIMED_OUT if status is None else status}
    print(json.dumps({**found, "seconds": time.monotonic() - started}))


def _started(arguments: list[str], *, often: bool) -> int:
    """A forked process that runs the command; what it prints goes to stderr."""
    process = os.fork()
    if process == 0:
        os.dup2(2, 1)
        sys.argv[1:] = arguments
        costs.time_for_report = made_up_times  # type: ignore[assignment]  # it asks for less
        if often:
            loop.SECONDS_BETWEEN_CHECKPOINTS = OFTEN
        try:
            limbeck_command()
        except SystemExit as end:
            os._exit(end.code if isinstance(end.code, int) else 0)
        finally:
            os._exit(3)
    return process


def _wait(process: int, *, seconds: float) -> int | None:
    """The status of a process, or None if it still works after these seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def _stage(out: Path) -> str:
    """What was being written, by its scratch folder; or what was finished last."""
    scratch = sorted(out.rglob("*.partial"), key=lambda path: path.stat().st_mtime)
    if scratch:
        return f"in {scratch[-1].relative_to(out).parts[0].removesuffix('.partial')}"
    done = sorted(out.rglob("manifest.json"), key=lambda path: path.stat().st_mtime)
    return f"after {done[-1].relative_to(out).parts[0]}" if done else "before the first artifact"


if __name__ == "__main__":
    main()
