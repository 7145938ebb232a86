"""`python dies_at.py COMMANDS`: limbeck commands, one after the other, each killed with SIGKILL at its point.

Each is a process of its own, forked from this one, which has imported the heavy modules and done nothing else: that is
most of what a process of a toy run costs. COMMANDS is a JSON list of [POINT, ARGUMENTS]; their statuses are printed.

POINT is one of  never              it is not killed
                 manifest:NAME      before the manifest of the artifact NAME is written
                 rename:NAME        when NAME is written and not yet in its place
                 checkpoint:NAME:N  behind the Nth checkpoint of the training of NAME
                 shard:N            behind the Nth shard of teacher labels
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import limbeck.artifacts.atomic_folder as whole
import limbeck.pipeline  # noqa: F401  # with all that a run imports later
import limbeck.training.loop as loop
from limbeck.cli import main as limbeck_command
from limbeck.labeling.store import LabelStore
from limbeck.timing import costs
from limbeck.timing.protocol import Case, TimedModel, Timing


def main() -> None:
    """One process after the other."""
    print(json.dumps([_status(point, arguments) for point, arguments in json.loads(sys.argv[1])]))


def _status(point: str, arguments: list[str]) -> int:
    """That of a forked process which runs the command; what it prints goes to stderr."""
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        sys.argv[1:] = arguments
        _run_until(point)
        os._exit(3)  # not reached: a command raises SystemExit
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run_until(point: str) -> None:
    """Arm the point, then run the command."""
    costs.time_for_report = made_up_times  # type: ignore[assignment]  # it asks for less
    kind, *details = point.split(":")
    match kind:
        case "never":
            pass
        case "manifest":
            _die_in(whole, "write_manifest", before=True, when=lambda folder, **_: _is_scratch_of(folder, details[0]))
        case "rename":
            _die_in(whole, "_put_in_place", before=True, when=lambda scratch, _: _is_scratch_of(scratch, details[0]))
        case "checkpoint":
            loop.SECONDS_BETWEEN_CHECKPOINTS = 0.0  # after every step, so that it dies in the middle of an epoch
            _die_in(loop, "save_checkpoint", times=int(details[1]), when=lambda work, **_: details[0] in str(work))
        case "shard":
            _die_in(LabelStore, "write", times=int(details[0]), when=lambda *_: True)
        case _:
            raise SystemExit(f"no such point: {kind}")
    limbeck_command()


def made_up_times(section: Any, *, subjects: list[Any], **_: Any) -> list[TimedModel]:
    """Nothing is timed: the processes that do it import PyTorch again, and none of them is killed."""
    timing = Timing(samples_ms=[1.0], rates=[1000.0])
    cases = {Case(1, 1): timing, Case(1, section.throughput_rows, shrinks=True): timing}
    return [TimedModel("onnxruntime", dict(cases)) for _ in subjects]


def _is_scratch_of(folder: Path, name: str) -> bool:
    return str(folder).endswith(f"/{name}.partial")


def _die_in(home: Any, name: str, *, when: Callable[..., bool], times: int = 1, before: bool = False) -> None:
    original, calls = getattr(home, name), 0

    def deadly(*args: Any, **options: Any) -> Any:
        nonlocal calls
        result = None if before else original(*args, **options)
        if when(*args, **options):
            calls += 1
            if calls == times:
                os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **options) if before else result

    setattr(home, name, deadly)


if __name__ == "__main__":
    main()
