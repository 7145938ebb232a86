"""Trains the seeds of a run at once, in processes of their own, and puts them together: one alone leaves a GPU idle."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.side_by_side import run_side_by_side
from limbeck.errors import LimbeckError

Command = Callable[[int, Path], Sequence[str]]


class SeedFailed(LimbeckError):
    """A student could not be trained; what it said stands in a file."""

    def __init__(self, names: Sequence[str], *, logs: Path) -> None:
        super().__init__(f"{', '.join(names)} failed; what they said stands in {logs}")


def train_seeds(folder: Path, seeds: Sequence[int], *, command: Command, most: int) -> None:
    """Let `command(seed, runs)` train each seed in a run of its own below `runs`, and bring the students here.

    The run here has come as far as its labels; a run of a seed begins with what it has made. Its name is that of
    `folder`.
    """
    parts = {seed: folder.parent / "seeds" / f"{folder.name}-{seed}" for seed in seeds}
    asked = {f"{folder.name}, seed {seed}": command(seed, runs) for seed, runs in parts.items()}
    if failed := run_side_by_side(asked, most=most, logs=folder.parent / "seeds"):
        raise SeedFailed(failed, logs=folder.parent / "seeds")
    for runs in parts.values():
        take_students(runs / folder.name, folder)


def take_students(lender: Path, folder: Path) -> None:
    """Bring vocabulary and students of a run into another of the same recipe, and the seconds they took.

    The pipeline looks at every one, and makes anew what is not true there.
    """
    found = [lender / "vocabulary", *lender.glob("students/*/*")]
    names = [str(path.relative_to(lender)) for path in found if path.is_dir()]
    for name in names:
        if not (folder / name).exists():
            shutil.copytree(lender / name, folder / name)
    theirs, ours = _record(lender), _record(folder)
    ours["stages"] = {**{name: facts for name, facts in theirs["stages"].items() if name in names}, **ours["stages"]}
    (folder / "run.json").write_text(json.dumps(ours, indent=1), encoding="utf-8")


def _record(run: Path) -> dict[str, dict[str, object]]:
    record: dict[str, dict[str, object]] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return record
