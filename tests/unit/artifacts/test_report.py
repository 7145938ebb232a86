"""The report as an artifact."""

from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.report import Report, open_report, read_right_rows, save_report, save_right_rows
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


def test_rows_are_found_again_in_another_order(tmp_path: Path) -> None:
    rows = [(b"c", ["bad"], True), (b"a", ["good", "new"], False), (b"b", [], True)]
    reordered = [(b"b", [], True), (b"a", ["new", "good"], False), (b"c", ["bad"], True)]
    relabelled = [(b"c", ["good"], True), *rows[1:]]
    found = []
    for name, given in {"one": rows, "two": reordered, "three": relabelled}.items():
        (tmp_path / name).mkdir()
        keys, labels, right = zip(*given, strict=True)
        save_right_rows(tmp_path / name, {"bilstm": right}, keys=keys, labels=labels)
        found.append(read_right_rows(tmp_path / name))

    one, two, three = found
    assert one is not None
    assert one == two
    assert one.of_model == {"bilstm": 0b011}  # in the order a, b, c
    assert three is not None
    assert three.digest != one.digest


def test_a_report_without_stored_rows_has_none(tmp_path: Path) -> None:
    assert read_right_rows(tmp_path) is None
    (tmp_path / "right_rows.json").write_text("[]", encoding="utf-8")
    assert read_right_rows(tmp_path) is None
