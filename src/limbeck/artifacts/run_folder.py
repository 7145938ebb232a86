"""The folder of a run: where its artifacts are, who is working in it, and run.json with what happened."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.report import Report
from limbeck.artifacts.whole import why_redo
from limbeck.errors import RunBusy
from limbeck.progress import Reporter

Artifact = TypeVar("Artifact")


@dataclass(frozen=True)
class Run:
    """A run on disk: what `limbeck run` leaves behind."""

    folder: Path

    @property
    def models(self) -> dict[str, Path]:
        """The models that ship, by name."""
        return {path.name: path for path in sorted((self.folder / "models").glob("*")) if path.suffix == ""}

    @property
    def report(self) -> dict[str, Any]:
        """What stands in report/report.json."""
        return Report(self.folder / "report").data


@dataclass
class RunFolder:
    """A run on disk, open for work."""

    folder: Path
    reporter: Reporter
    facts: dict[str, Any]
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)

    def step(
        self, name: str, *, kind: str, key: Key, load: Callable[[Path], Artifact], make: Callable[[Path, Key], object]
    ) -> Artifact:
        """The artifact `name`: as it is on disk when it is still true, else made; says which and why."""
        folder = self.folder / name
        started = time.monotonic()
        reason = why_redo(folder, kind=kind, key=key)
        if reason is None:
            unchanged = "reused: nothing it is made from has changed"
            self.reporter.note(f"[green]✓[/green] [bold]{name}[/bold]  [dim]{unchanged}[/dim]")
        else:
            self.reporter.note(f"[cyan]▸[/cyan] [bold]{name}[/bold]  [dim]{reason}[/dim]")
            folder.parent.mkdir(parents=True, exist_ok=True)
            make(folder, key)
        before = self.stages.get(name, {}).get("seconds", 0.0)
        spent = time.monotonic() - started
        self.stages[name] = {"seconds": round(before if reason is None else spent, 3), "reused": reason is None}
        self.save()
        return load(folder)

    def save(self) -> None:
        """Write run.json in one step."""
        scratch = self.folder / "run.json.partial"
        scratch.write_text(json.dumps({**self.facts, "stages": self.stages}, indent=1), encoding="utf-8")
        scratch.rename(self.folder / "run.json")


@contextmanager
def open_run(folder: Path, *, reporter: Reporter, facts: dict[str, Any]) -> Iterator[RunFolder]:
    """Take the folder for this process alone; the lock ends with the process, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusy(folder=folder) from None
        yield RunFolder(folder=folder, reporter=reporter, facts=facts, stages=_earlier_stages(folder))
    finally:
        os.close(handle)


def _earlier_stages(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        stages: dict[str, dict[str, Any]] = json.loads((folder / "run.json").read_text(encoding="utf-8"))["stages"]
        return stages
    except (OSError, ValueError, KeyError):
        return {}
