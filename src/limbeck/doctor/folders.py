"""The artifacts of a run on disk: which are whole, and what is wrong with the others."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import FORMATS, MANIFEST, Manifest, faults_of, read_manifest
from limbeck.doctor.finding import Finding
from limbeck.errors import ArtifactError, ArtifactMissing, in_shell, some

CHECK = "manifest"
IN_THE_MAKING = (".partial", ".old")  # endings of folders that are no artifacts (yet)


@dataclass
class Artifacts:
    """The artifacts of a run by their place in it: the whole ones, and why others cannot be read."""

    folder: Path
    whole: dict[str, Manifest] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    older: list[str] = field(default_factory=list)  # of the broken: those that are only of an older version
    findings: list[Finding] = field(default_factory=list)

    def why_not(self, place: str) -> str:
        """Why there is no whole artifact at this place."""
        return f"{place} is {self.broken[place]}" if place in self.broken else f"{place} is not made yet"


def find_artifacts(folder: Path) -> Artifacts:
    """Look at every file of every artifact, as its manifest lists them."""
    found = Artifacts(folder)
    for place in _places(folder):
        _look(found, place)
    if found.older:
        what = f"{_artifacts(len(found.older))} in the form of an older version"
        advice = f"To have the checks read all of it: limbeck run {in_shell(folder)} makes these anew."
        found.findings.append(Finding(CHECK, "note", what, some(found.older), advice))
    return found


def _artifacts(count: int) -> str:
    return "an artifact is" if count == 1 else f"{count} artifacts are"


def _places(folder: Path) -> list[str]:
    """Folders with a manifest, and those that run.json says were made and that are still there."""
    paths = {path.parent for path in folder.rglob(MANIFEST)} | {folder / name for name in _stages(folder)}
    places = [path.relative_to(folder) for path in sorted(paths) if path.is_dir() and path != folder]
    return [place.as_posix() for place in places if not any(Path(part).suffix in IN_THE_MAKING for part in place.parts)]


def _stages(folder: Path) -> list[str]:
    try:
        return list(json.loads((folder / "run.json").read_text(encoding="utf-8"))["stages"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _look(found: Artifacts, place: str) -> None:
    path = found.folder / place
    again = f"Run it again: limbeck run {in_shell(found.folder)} makes what is damaged anew, and keeps the rest."
    try:
        manifest = read_manifest(path, kind=_kind(path))
    except ArtifactMissing as error:
        found.broken[place] = f"damaged: {error.reason}"
        found.findings.append(Finding(CHECK, "error", f"{place} is damaged", error.reason, again))
        return
    except ArtifactError as error:
        first, *_, advice = str(error).splitlines()
        found.broken[place] = "of a newer version"
        found.findings.append(Finding(CHECK, "error", f"{place} is of a newer version of Limbeck", first, advice))
        return
    if faults := faults_of(path, manifest):
        found.broken[place] = f"damaged: {some(faults)}"
        found.findings.append(Finding(CHECK, "error", f"{place} does not match its manifest", some(faults), again))
    elif manifest.format != FORMATS[manifest.kind]:
        found.broken[place] = "of an older version"
        found.older.append(place)
    else:
        found.whole[place] = manifest


def _kind(path: Path) -> str:
    """What its manifest calls itself; what is no kind of artifact is refused when it is read."""
    try:
        raw: Any = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        return raw["kind"] if raw["kind"] in FORMATS else "model"
    except (OSError, ValueError, KeyError, TypeError):
        return "model"
