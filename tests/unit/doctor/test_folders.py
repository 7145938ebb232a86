"""Damaged, changed, missing and too new artifacts of a run are found; what is whole is known to be so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.doctor.of_run import find_artifacts


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with two models, and one that is being written."""
    for name in ("models/one", "models/two"):
        with written_atomically(tmp_path / name, kind="model", key=Key(section={}, inputs={})) as scratch:
            (scratch / "model.onnx").write_bytes(b"weights")
    (tmp_path / "models" / "three.partial").mkdir()
    stages: dict[str, Any] = {name: {} for name in ("models/one", "models/two", "report")}
    (tmp_path / "run.json").write_text(json.dumps({"stages": stages}), encoding="utf-8")
    return tmp_path


def test_whole_artifacts_give_no_findings(run: Path) -> None:
    found = find_artifacts(run)

    assert list(found.intact) == ["models/one", "models/two"]
    assert found.findings == []
    assert found.why_not("report") == "report is not made yet"


@pytest.mark.parametrize(
    ("damage", "evidence"),
    [
        (lambda path: path.unlink(), "model.onnx is missing"),
        (lambda path: path.write_bytes(b"weight"), "model.onnx has 6 bytes instead of 7"),
        (lambda path: path.write_bytes(b"WEIGHTS"), "model.onnx has changed since it was written"),
    ],
)
def test_a_changed_file_is_an_error(run: Path, damage: Callable[[Path], object], evidence: str) -> None:
    damage(run / "models" / "one" / "model.onnx")

    found = find_artifacts(run)

    (finding,) = found.findings
    assert (finding.level, finding.what) == ("error", "models/one does not match its manifest")
    assert finding.evidence == evidence
    assert f"limbeck run {run}" in finding.advice
    assert list(found.intact) == ["models/two"]
    assert found.why_not("models/one") == f"models/one is damaged: {evidence}"


@pytest.mark.parametrize("content", [None, "{", '{"kind": "soup"}', "[]"])
def test_an_artifact_without_a_readable_manifest_is_an_error(run: Path, content: str | None) -> None:
    manifest = run / "models" / "one" / "manifest.json"
    manifest.unlink() if content is None else manifest.write_text(content, encoding="utf-8")

    (finding,) = find_artifacts(run).findings

    assert (finding.level, finding.what) == ("error", "models/one is damaged")


def test_an_artifact_of_a_newer_version_is_an_error_of_another_kind(run: Path) -> None:
    with_format(run / "models" / "one", 99)

    (finding,) = find_artifacts(run).findings

    assert finding.what == "models/one is of a newer version of Limbeck"
    assert "pip install --upgrade" in finding.advice


def test_artifacts_of_an_older_version_are_one_note(run: Path) -> None:
    for name in ("one", "two"):
        with_format(run / "models" / name, 1)

    (finding,) = find_artifacts(run).findings

    assert (finding.level, finding.what) == ("note", "2 artifacts are in the format of an older version")
    assert finding.evidence == "models/one, models/two"


def with_format(folder: Path, number: int) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": number}), encoding="utf-8")
