"""The report as an artifact: the numbers as JSON, and one page to look at (standard library alone)."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST, faults_of, read_manifest
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
        """The content of report.json."""
        data: dict[str, Any] = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        return data

    @property
    def html(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def open_report(folder: Path) -> Report:
    """The report in this folder. Raises if it has none, if it is damaged, or if another version wrote it."""
    manifest = read_manifest(folder, kind="report", advice="Run the recipe to its end: `limbeck run RECIPE`.")
    if faults := faults_of(folder, manifest):
        raise ArtifactDamaged(folder=folder, faults=faults)
    return Report(folder)


def save_report(folder: Path, *, data: dict[str, Any], page: str) -> None:
    """Write the files of a report into a scratch folder. Refuses NaN, which is not valid JSON."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    (folder / "report.html").write_text(page, encoding="utf-8")


def made_after_report(run: Path) -> list[str]:
    """What was rebuilt after the report was written: the corpus, or students by name. What has been deleted since then
    does not count."""
    inputs: dict[str, str] = _manifest(run / "report").get("key", {}).get("inputs", {})
    found = ["corpus"] if _changed(run / "corpus", inputs.get("corpus")) else []
    for name, fingerprint in inputs.items():
        variant, _, seed = name.rpartition("/")
        if variant and _student_changed(run, variant, seed, export=fingerprint):
            found.append(variant.removesuffix("-int8"))
    return [*dict.fromkeys(found)]


def _student_changed(run: Path, variant: str, seed: str, *, export: str) -> bool:
    """Whether the file was exported again, or its student was trained again and is not exported yet."""
    file = run / "exports" / variant / seed
    student = _manifest(file).get("key", {}).get("inputs", {}).get("student")
    return _changed(file, export) or _changed(run / "students" / variant.removesuffix("-int8") / seed, student)


def _changed(folder: Path, fingerprint: str | None) -> bool:
    now = _manifest(folder).get("fingerprint")
    return now is not None and fingerprint is not None and now != fingerprint


def _manifest(folder: Path) -> dict[str, Any]:
    """As it is on disk; empty if it cannot be read, which other functions report."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
