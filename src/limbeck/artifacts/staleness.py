"""Whether a report is still that of its run: one that was changed may have stopped before its report."""

import json
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST


def made_after_report(run: Path) -> list[str]:
    """What of a run is not what its report was made from any more: the corpus, or students by name. What has been taken
    out of the folder since does not count."""
    inputs: dict[str, str] = _manifest(run / "report").get("key", {}).get("inputs", {})
    found = ["corpus"] if _changed(run / "corpus", inputs.get("corpus")) else []
    for name, fingerprint in inputs.items():
        variant, _, seed = name.rpartition("/")
        if variant and _student_changed(run, variant, seed, export=fingerprint):
            found.append(variant.removesuffix("-int8"))
    return [*dict.fromkeys(found)]


def _student_changed(run: Path, variant: str, seed: str, *, export: str) -> bool:
    """Whether the file was exported anew, or its student trained anew and not exported yet."""
    file = run / "exports" / variant / seed
    student = _manifest(file).get("key", {}).get("inputs", {}).get("student")
    return _changed(file, export) or _changed(run / "students" / variant.removesuffix("-int8") / seed, student)


def _changed(folder: Path, fingerprint: str | None) -> bool:
    now = _manifest(folder).get("fingerprint")
    return now is not None and fingerprint is not None and now != fingerprint


def _manifest(folder: Path) -> dict[str, Any]:
    """As it stands there; empty where there is none that can be read, which others complain about."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
