"""The report as an artifact: the numbers as JSON, and one page to look at (standard library alone)."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import faults_of, read_manifest
from limbeck.errors import ArtifactDamaged


@dataclass(frozen=True)
class Report:
    """`report.json`, whose keys are a contract, and `report.html`."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="report").fingerprint

    @cached_property
    def data(self) -> dict[str, Any]:
        """What stands in report.json."""
        data: dict[str, Any] = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        return data

    @property
    def html(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def open_report(folder: Path) -> Report:
    """The report in this folder. Raises if there is none, if it is damaged, or if a newer Limbeck wrote it."""
    manifest = read_manifest(folder, kind="report", advice="Run the recipe to its end: `limbeck run RECIPE`.")
    if faults := faults_of(folder, manifest):
        raise ArtifactDamaged(folder=folder, faults=faults)
    return Report(folder)


def save_report(folder: Path, *, data: dict[str, Any], page: str) -> None:
    """Write the files of a report into a scratch folder. Numbers that are no numbers (NaN) are refused."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    (folder / "report.html").write_text(page, encoding="utf-8")
