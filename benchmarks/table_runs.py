"""Runs a line of a table, with the teacher of a run beside it where they agree, and takes its numbers."""

import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.page_parts import machine_name
from benchmarks.table_lines import command_of
from limbeck.artifacts.run_folder import report_of
from limbeck.errors import LimbeckError
from limbeck.pipeline import run
from limbeck.progress import TerminalReporter
from limbeck.recipe.load import load_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.stages import Stage

LENT = ("corpus", "transfer", "augmented", "pretrained", "teacher", "teachers", "labels", "chosen", "vocabulary")
ENTRY = (
    *("name", "kind", "precision", "seeds", "accuracy", "accuracy_per_seed", "accuracy_sd", "accuracy_ci95"),
    *("macro_f1", "f1_positive", "teacher_agreement", "gain_over_baseline", "parameters"),
    *("parameters_without_embeddings", "size_mb", "latency_ms", "rows_per_second", "speedup_over_teacher"),
    "speedup_over_teacher_int8",
)
ROLES = {"teacher": "teacher", "rival": "tfidf", "baseline": "alone", "student": "student", "export": "int8"}


def run_line(
    recipe: str,
    *,
    overrides: Sequence[str],
    folder: Path,
    source: Path | None = None,
    until: Stage | None = None,
) -> bool:
    """Run it in this folder; whether it came to a report. What a run beside it has made already is not made again."""
    wanted = load_recipe(recipe, overrides=overrides).recipe
    if not folder.exists() and (lender := source or _lender(wanted, beside=folder)):
        _borrow(lender, folder, kind=wanted.student.kind)
    run(recipe, overrides=overrides, out=folder, until=until, reporter=TerminalReporter())
    return until in (None, Stage.EVALUATION)


def _lender(wanted: Recipe, *, beside: Path) -> Path | None:
    """The run beside this one that has most in common with it; none if no one has the same corpus and teacher."""
    ranked = []
    for record in beside.parent.glob("*/run.json"):
        try:
            theirs = load_recipe(record.parent, locate=False).recipe
        except LimbeckError:  # a run of an older version, or of something else
            continue
        if (theirs.corpus, theirs.teacher) == (wanted.corpus, wanted.teacher):
            alike = sum(getattr(theirs, part) == getattr(wanted, part) for part in ("transfer", "augmentation"))
            ranked.append((alike, record.stat().st_mtime, record.parent))
    return max(ranked)[2] if ranked else None


def _borrow(lender: Path, folder: Path, *, kind: str) -> None:
    """Begin a run with what another has made before its student: its files under a second name, and their seconds.

    The pipeline itself looks at every artifact and rebuilds what is not true of this run.
    """
    lent = [*LENT, *(str(path.relative_to(lender)) for path in lender.glob(f"students/{kind}-alone/*"))]
    for name in lent:
        if (lender / name).is_dir():
            shutil.copytree(lender / name, folder / name, copy_function=_link)
    stages = json.loads((lender / "run.json").read_text(encoding="utf-8"))["stages"]
    kept = {name: facts for name, facts in stages.items() if name in lent or name.partition("/")[0] in lent}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"stages": kept}), encoding="utf-8")


def _link(here: str, there: str) -> None:
    try:
        os.link(here, there)
    except OSError:  # another disk
        shutil.copyfile(here, there)


def numbers_of(recipe: str, *, overrides: Sequence[str], folder: Path) -> dict[str, Any]:
    """What the page says of a finished run."""
    report = report_of(folder).data
    entries = {ROLES[entry["role"]]: _entry(entry) for entry in report["models"]}
    int8 = report.get("teacher_int8") or {}
    machine = report["machine"]
    return {
        "command": command_of(recipe, overrides),
        "machine": machine_name(machine),
        "threads": machine["threads"],
        "rows": report["corpus"]["rows"],
        "judged_split": report["judged_split"],
        "transfer_rows": _kept(report, "transfer"),
        "copies": _kept(report, "augmentation"),
        **entries,
        "teacher_int8": {key: int8.get(key) for key in ("size_mb", "latency_ms", "rows_per_second")} if int8 else None,
        "seconds": _seconds(json.loads((folder / "run.json").read_text(encoding="utf-8"))["stages"]),
    }


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: _rounded(entry[key]) for key in ENTRY if entry.get(key) is not None}
    against = (entry.get("mcnemar") or {}).get("baseline")
    per_class = {row["label"]: _rounded(row["f1"]) for row in entry.get("per_class") or []}
    return {**kept, **({"mcnemar_against_alone": _rounded(against)} if against else {}), "f1_of_class": per_class}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return {key: _rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def _kept(report: Mapping[str, Any], part: str) -> int:
    return int(report[part]["chosen"]["rows"]) if report.get(part) else 0


def _seconds(stages: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Of the stages; trainings and exports of all seeds together."""
    spent: Counter[str] = Counter()
    for name, facts in stages.items():
        group, _, kind = name.partition("/")
        spent["alone" if group == "students" and "-alone/" in kind else group] += facts["seconds"]
    return {group: round(seconds, 1) for group, seconds in spent.items()}


def merge_line(results: Path, table: str, line: str, numbers: Mapping[str, Any]) -> None:
    """Put the line into the table's file, in place of one of the same name. Runs side by side take turns."""
    results.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(results.parent):
        found: dict[str, Any] = {"table": table, "lines": {}}
        if results.is_file():
            found = json.loads(results.read_text(encoding="utf-8"))
        found["lines"][line] = dict(numbers)
        scratch = results.with_suffix(".partial")
        scratch.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        scratch.rename(results)  # who is killed here leaves the file as it was


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Others who ask for the same folder wait; the lock ends with the process, however it ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
