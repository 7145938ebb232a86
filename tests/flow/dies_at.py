"""`python dies_at.py POINT ARGUMENTS…`: the limbeck command, killed with SIGKILL when it comes to a point.

POINT is one of  manifest:NAME      before the manifest of the artifact NAME is written
                 rename:NAME        when NAME is written and not yet in its place
                 checkpoint:NAME:N  behind the Nth checkpoint of the training of NAME
                 shard:N            behind the Nth shard of teacher labels
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main() -> None:
    """Arm the point, then run the command."""
    import limbeck.artifacts.atomic_folder as whole
    import limbeck.training.loop as loop
    from limbeck.cli import main as limbeck_command
    from limbeck.labeling.store import LabelStore

    kind, *details = sys.argv.pop(1).split(":")
    match kind:
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
