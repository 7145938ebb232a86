"""The folder of a run: its artifacts, a lock, and run.json with what was built and how long it took."""

import errno
import filecmp
import json
import shutil
import time
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from limbeck.artifacts.atomic_folder import why_redo
from limbeck.artifacts.file_lock import FileIsLocked, locked
from limbeck.artifacts.manifest import MANIFEST, Key, read_small_json
from limbeck.artifacts.report import Report, made_after_report, open_report
from limbeck.errors import ArtifactError, ArtifactMissing, PathUnusable, in_shell, some
from limbeck.progress import Reporter

Artifact = TypeVar("Artifact")
RUNS = Path("runs")  # where the folders of runs are, unless --out names another place
LOCK = ".lock"
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
SEARCHED = "search"  # folder under models/: the model that `limbeck search` has chosen


class RunBusy(ArtifactError):
    """Another process is working in the run folder."""

    def __init__(self, *, folder: Path) -> None:
        super().__init__(
            f"another limbeck is working in '{folder}'",
            advice="Wait for it to end, or give this run a folder with --out.",
        )


@dataclass(frozen=True)
class Run:
    """A run on disk, as `limbeck run` wrote it."""

    folder: Path

    @property
    def models(self) -> dict[str, Path]:
        """The models that ship, by name."""
        return {path.name: path for path in sorted((self.folder / "models").glob("*")) if path.suffix == ""}

    @property
    def report(self) -> dict[str, Any]:
        """The content of report/report.json."""
        return Report(self.folder / "report").data


@dataclass
class RunFolder:
    """A run on disk, locked for writing."""

    folder: Path
    reporter: Reporter
    facts: dict[str, Any]
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)

    def step(
        self, name: str, *, kind: str, key: Key, load: Callable[[Path], Artifact], make: Callable[[Path, Key], object]
    ) -> Artifact:
        """The artifact `name`: reused if its key and files are unchanged, else built; notes which, and why."""
        started = time.monotonic()
        if self.is_to_make(name, kind=kind, key=key):
            make(self.folder / name, key)
            self.record(name, seconds=time.monotonic() - started)
        return load(self.folder / name)

    def is_to_make(self, name: str, *, kind: str, key: Key) -> bool:
        """Whether the artifact `name` has to be built; notes why, or that it is reused."""
        folder = self.folder / name
        reason = why_redo(folder, kind=kind, key=key)
        if reason is None:
            self.reporter.stage(name, "reused: nothing it is made from has changed", is_reused=True)
            self.record(name, seconds=self.stages.get(name, {}).get("seconds", 0.0), reused=True)
            return False
        self.reporter.stage(name, reason)
        folder.parent.mkdir(parents=True, exist_ok=True)
        return True

    def record(self, name: str, *, seconds: float, reused: bool = False) -> None:
        """Write into run.json how long it took to make an artifact."""
        self.stages[name] = {"seconds": round(seconds, 3), "reused": reused}
        self.save()

    def keep_only(self, place: str, names: Collection[str]) -> None:
        """Remove artifacts at `place` that the recipe no longer asks for: they would look like current ones."""
        for folder in sorted(path.parent for path in (self.folder / place).glob(f"*/{MANIFEST}")):
            if folder.name not in names:
                self.reporter.stage(f"{place}/{folder.name}", "no longer part of this run: removed")
                shutil.rmtree(folder)
                self.stages.pop(f"{place}/{folder.name}", None)
        self.save()

    def save(self) -> None:
        """Write run.json."""
        self.write("run.json", json.dumps({**self.facts, "stages": self.stages}, indent=1))

    def write(self, name: str, text: str) -> None:
        """Write a file of the run in one step: if the disk is full, the previous file is still there."""
        scratch = self.folder / f"{name}.partial"
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(self.folder / name)


@contextmanager
def open_run(folder: Path, *, reporter: Reporter, facts: dict[str, Any]) -> Iterator[RunFolder]:
    """Lock the folder for this process; the lock ends with the process, however it ends."""
    _refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / LOCK))
        except FileIsLocked:
            raise RunBusy(folder=folder) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            advice = "Put the run on another disk, or mount this one with locks (NFS 4); labeling.store may stay there."
            raise PathUnusable(path=str(folder), reason="its file system has no locks", advice=advice) from None
        yield RunFolder(folder=folder, reporter=reporter, facts=facts, stages=_earlier_stages(folder))


class RunOfOtherData(PathUnusable):
    """The folder holds the run of another data file, which would be overwritten."""

    def __init__(self, *, folder: Path, other: Path, train: Path) -> None:
        self.other = other
        super().__init__(
            path=str(folder),
            reason=f"it holds the run of another file, '{other}', and not of '{train}'",
            advice="Keep both: give this run a folder of its own, e.g. --out runs/NAME; or remove the other run.",
        )


def refuse_other_data(folder: Path, *, train: Path, recipe: Path | None) -> None:
    """Raise RunOfOtherData if the run in the folder is about another file of training rows, which is still there.

    A recipe may have been changed to name another file, so with a `recipe` it is refused only if another one, which is
    still there too, has made the run. Data that was moved is the same data.
    """
    try:
        other = Path(tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))["corpus"]["train"])
        made_by = Path(read_small_json(folder / "run.json").get("recipe", folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    if recipe is not None and (not made_by.is_file() or made_by.samefile(recipe)):
        return
    if other.is_file() and train.is_file() and not filecmp.cmp(other, train, shallow=False):
        raise RunOfOtherData(folder=folder, other=other, train=train)


def report_of(run: Path) -> Report:
    """The report of a run. Raises if there is no run, if it is not finished, if it was changed after its report was
    written, or if the report is damaged."""
    if not (run / "run.json").is_file():
        reason = "it has no run.json" if run.is_dir() else "there is no such folder"
        raise ArtifactMissing(folder=run, kind="run", reason=reason, advice="Give the folder of a run: runs/NAME.")
    if not (run / "report").exists():
        reached = [name for name in _earlier_stages(run) if (run / name).exists()]
        reason = f"it stopped after {reached[-1]}" if reached else "nothing has been built yet"
        raise ArtifactMissing(
            folder=run, kind="finished run", reason=reason, advice=f"Continue with: limbeck run {in_shell(run)}"
        )
    if earlier := made_after_report(run):
        reason = f"its report is older than what it is about ({some(earlier)})"
        advice = f"Continue with: limbeck run {in_shell(run)}"
        raise ArtifactMissing(folder=run, kind="finished run", reason=reason, advice=advice)
    return open_report(run / "report")


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder with other files in it: artifacts would replace those of the same name."""
    if not folder.is_dir() or any((folder / name).exists() for name in (LOCK, "run.json")):
        return
    if found := sorted(path.name for path in folder.iterdir()):
        reason = f"it is not a run, and has other files in it ({some(found)})"
        raise PathUnusable(path=str(folder), reason=reason, advice="Give a new or an empty folder with --out.")


def _earlier_stages(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        stages = read_small_json(folder / "run.json")["stages"]
        return {name: dict(facts) for name, facts in stages.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
