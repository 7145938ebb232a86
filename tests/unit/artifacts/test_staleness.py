"""A report that is older than what it is about is distinguished from one that is still true."""

import json
from pathlib import Path

import pytest

from limbeck.artifacts.report import made_after_report
from limbeck.artifacts.run_folder import report_of
from limbeck.errors import ArtifactMissing

INPUTS = {"corpus": "c1", "labels": "l1", "bilstm/0": "e1", "bilstm-int8/0": "e2", "bilstm-alone/0": "e3"}


def write(folder: Path, *, fingerprint: str, **inputs: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"fingerprint": fingerprint, "key": {"section": {}, "inputs": inputs}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run of one student, one alone, and a file in int8."""
    write(tmp_path / "corpus", fingerprint="c1")
    for name, fingerprint in (("bilstm", "s1"), ("bilstm-alone", "s2")):
        write(tmp_path / "students" / name / "0", fingerprint=fingerprint, corpus="c1")
    for name, fingerprint, student in (
        ("bilstm", "e1", "s1"),
        ("bilstm-int8", "e2", "s1"),
        ("bilstm-alone", "e3", "s2"),
    ):
        write(tmp_path / "exports" / name / "0", fingerprint=fingerprint, student=student)
    write(tmp_path / "report", fingerprint="r1", **INPUTS)
    (tmp_path / "run.json").write_text(json.dumps({"stages": {}}), encoding="utf-8")
    return tmp_path


def test_a_finished_run_has_the_report_of_what_is_there(run: Path) -> None:
    assert made_after_report(run) == []


def test_a_student_that_was_trained_anew_is_named_once(run: Path) -> None:
    write(run / "students" / "bilstm" / "0", fingerprint="s9")

    assert made_after_report(run) == ["bilstm"]


def test_a_file_that_was_exported_anew_is_named_by_its_student(run: Path) -> None:
    write(run / "exports" / "bilstm-int8" / "0", fingerprint="e9", student="s1")

    assert made_after_report(run) == ["bilstm"]


def test_another_corpus_is_named(run: Path) -> None:
    write(run / "corpus", fingerprint="c9")

    assert made_after_report(run) == ["corpus"]


def test_what_was_taken_out_of_the_folder_does_not_count(run: Path) -> None:
    for name in ("corpus", "students/bilstm/0", "exports/bilstm/0"):
        (run / name / "manifest.json").unlink()
    (run / "exports" / "bilstm-int8" / "0" / "manifest.json").write_text("[", encoding="utf-8")

    assert made_after_report(run) == []


def test_its_old_report_is_not_shown(run: Path) -> None:
    write(run / "students" / "bilstm-alone" / "0", fingerprint="s9")

    with pytest.raises(
        ArtifactMissing, match=r"older than what it is about \(bilstm-alone\)\nContinue with: limbeck run"
    ):
        report_of(run)
