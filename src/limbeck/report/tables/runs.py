"""Runs to compare: their reports, and why they may not be comparable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MOST_BYTES_OF_ARTIFACT, read_manifest, read_small_json
from limbeck.artifacts.report import RightRows, open_report, read_right_rows
from limbeck.artifacts.run_folder import report_of
from limbeck.errors import ArtifactError, ArtifactMissing
from limbeck.report import findings

ADVICE = "Give folders of finished runs (runs/NAME), or their report.json files."
NEEDED = {"run": str, "corpus": dict, "machine": dict, "models": list}


class NothingToCompare(ArtifactError):
    """Fewer than two runs were given to compare."""

    def __init__(self, *, runs: Sequence[Path]) -> None:
        self.runs = tuple(runs)
        given = f"'{runs[0]}' alone cannot be compared" if runs else "no runs were given to compare"
        super().__init__(
            f"{given}: a comparison needs two runs or more",
            advice=f"Give another one: limbeck compare {runs[0] if runs else 'runs/A'} runs/OTHER",
        )


@dataclass(frozen=True)
class ComparedRun:
    """A finished run in a comparison."""

    name: str  # unique among the runs
    path: Path
    report: Mapping[str, Any]
    rows_digest: str | None  # of the file of the judged rows; None if the corpus of the run is gone
    right_rows: RightRows | None = None  # which rows its models have right; None if that was not stored

    @property
    def judged_on(self) -> str:
        """The rows its numbers are about, in words."""
        corpus = self.report["corpus"]["name"]
        return f"{self.report['judged_rows']:,} {self.report['judged_split']} rows of {corpus}"

    @property
    def timed_on(self) -> str:
        """The machine its times are from, in words."""
        machine = self.report["machine"]
        return f"{machine['cpu']}, {machine['threads']} thread{'' if machine['threads'] == 1 else 's'}"


def read_runs(paths: Sequence[Path]) -> list[ComparedRun]:
    """The runs at these paths, each once; folders of runs, or report files.

    Raises if one of them is neither, and NothingToCompare if there are fewer than two.
    """
    places = list({path.resolve(): path for path in paths}.values())
    if len(places) < 2:
        raise NothingToCompare(runs=places)
    reports = [_report_at(path) for path in places]
    names = [str(report["run"]) for report, _ in reports]
    return [
        ComparedRun(
            name=name if names.count(name) == 1 else str(path),
            path=path,
            report=report,
            rows_digest=_rows_digest(path, split=report["judged_split"]),
            right_rows=read_right_rows(folder),
        )
        for name, path, (report, folder) in zip(names, places, reports, strict=True)
    ]


def obstacles(runs: Sequence[ComparedRun]) -> list[str]:
    """Warnings: other rows, other machines, and rows that a student could have seen."""
    leaks = [f"{run.name}: {warning}" for run in runs for warning in findings.leaks(run.report)]
    return [*_other_rows(runs), *_other_machines(runs), *leaks]


def _other_rows(runs: Sequence[ComparedRun]) -> list[str]:
    warning = "the runs were judged on different rows, so their numbers are not comparable"
    classes = {tuple(run.report["corpus"]["labels"]) for run in runs}
    if all(run.right_rows for run in runs) and len(classes) == 1:
        return _other_texts(runs, warning)
    if len({run.judged_on for run in runs}) > 1 or len(classes) > 1:
        known = all(run.rows_digest for run in runs)
        if known and len(classes) == 1 and len({run.rows_digest for run in runs}) == 1:
            return []  # the same rows under another name
        return [f"{warning}: {_each(runs, 'judged_on')}"]
    digests = {run.rows_digest for run in runs if run.rows_digest}
    return [f"{warning}: all have {runs[0].judged_on}, but not the same ones"] if len(digests) > 1 else []


def _other_texts(runs: Sequence[ComparedRun], warning: str) -> list[str]:
    """By the texts and labels of the rows, whatever their files are called."""
    if len({run.right_rows.digest for run in runs if run.right_rows}) == 1:
        return []
    if len({run.judged_on for run in runs}) == 1:
        return [f"{warning}: all have {runs[0].judged_on}, but not the same ones"]
    return [f"{warning}: {_each(runs, 'judged_on')}"]


def _other_machines(runs: Sequence[ComparedRun]) -> list[str]:
    if len({run.timed_on for run in runs}) == 1:
        return []
    return [f"times were measured under different conditions, so they are not comparable: {_each(runs, 'timed_on')}"]


def _each(runs: Sequence[ComparedRun], attribute: str) -> str:
    """The attribute of each run; runs with the same value are grouped."""
    groups: dict[str, list[str]] = {}
    for run in runs:
        groups.setdefault(getattr(run, attribute), []).append(run.name)
    return "; ".join(f"{', '.join(names)}: {words}" for words, names in groups.items())


def _report_at(path: Path) -> tuple[Mapping[str, Any], Path]:
    """The report, and the folder it is in."""
    if path.is_file():
        return _from_file(path), path.parent
    is_report = (path / "report.json").is_file() and not (path / "run.json").is_file()
    report = open_report(path) if is_report else report_of(path)
    return report.data, report.folder


def _from_file(path: Path) -> Mapping[str, Any]:
    try:
        data = read_small_json(path, most_bytes=MOST_BYTES_OF_ARTIFACT)
    except (ValueError, OSError):
        raise ArtifactMissing(folder=path, kind="report", reason="it cannot be read as JSON", advice=ADVICE) from None
    if not isinstance(data, dict) or not all(isinstance(data.get(key), kind) for key, kind in NEEDED.items()):
        raise ArtifactMissing(folder=path, kind="report", reason="it has no models of a run", advice=ADVICE)
    return data


def _rows_digest(path: Path, *, split: str) -> str | None:
    """From the corpus of the run that the report belongs to, if it still exists."""
    run = next((place for place in (path, *path.resolve().parents[:2]) if (place / "run.json").is_file()), None)
    try:
        files = read_manifest(run / "corpus", kind="corpus").files if run else {}
    except ArtifactError:
        return None
    found = files.get(f"{split}.arrow")
    return str(found["blake2b"]) if found else None
