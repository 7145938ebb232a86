"""The report as an artifact."""

from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.report import Report, open_report, save_report
from limbeck.errors import ArtifactMissing

KEY = Key(section={}, inputs={})


def test_what_was_saved_is_read_back(tmp_path: Path) -> None:
    with written_atomically(tmp_path / "report", kind="report", key=KEY) as scratch:
        save_report(scratch, data={"run": "影评", "models": []}, page="<!doctype html>影评")

    report = open_report(tmp_path / "report")

    assert report.data == {"run": "影评", "models": []}
    assert report.html.read_text(encoding="utf-8") == "<!doctype html>影评"
    assert report.fingerprint == Report(tmp_path / "report").fingerprint


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        save_report(tmp_path, data={"accuracy": float("nan")}, page="")


def test_a_folder_without_a_report_is_refused_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissing, match="limbeck run"):
        open_report(tmp_path)
