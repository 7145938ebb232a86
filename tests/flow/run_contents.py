"""What two runs of a recipe have in common if nothing happened to either: every file and number, but no times."""

import json
from pathlib import Path
from typing import Any

from limbeck.artifacts.manifest import MANIFEST
from limbeck.artifacts.teacher_labels import ASKING
from limbeck.artifacts.transfer_text import without_times

NOISY = {
    "latency_ms",
    "rows_per_second",
    "throughput",
    "speedup_over_teacher",
    "speedup_over_teacher_int8",
}


def fingerprints(run: Path) -> dict[str, dict[str, str]]:
    """Of every file in every artifact but the report, whose timings differ; as do those of the asking."""
    manifests = {path.parent: json.loads(path.read_text(encoding="utf-8")) for path in run.rglob(MANIFEST)}
    return {
        str(folder.relative_to(run)): {
            name: counted(folder / name) if name == "quality.json" else facts["blake2b"]
            for name, facts in manifest["files"].items()
            if name != ASKING
        }
        for folder, manifest in manifests.items()
        if folder.name != "report"
    }


def counted(path: Path) -> str:
    """What was counted while rows were gathered, without how long it took."""
    return json.dumps(without_times(json.loads(path.read_text(encoding="utf-8"))))


def numbers(run: Path) -> list[dict[str, Any]]:
    """Of the report, for every model."""
    models = json.loads((run / "report" / "report.json").read_text(encoding="utf-8"))["models"]
    return [{key: value for key, value in model.items() if key not in NOISY} for model in models]
