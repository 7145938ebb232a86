"""Runs beside each other: how they are found, and what keeps their numbers from being compared."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.report import save_report, save_right_rows
from limbeck.errors import ArtifactDamaged, ArtifactMissing
from limbeck.report.tables.runs import NothingToCompare, obstacles, read_runs

KEY = Key(section={}, inputs={})
MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path, report: dict[str, Any]) -> MakeRun:
    """Makes finished runs with this report, each with judged rows of its own or the same."""

    def make(name: str, *, rows: str = "the same", **changes: Any) -> Path:
        run = tmp_path / name
        with written_atomically(run / "report", kind="report", key=KEY) as scratch:
            save_report(scratch, data={**report, "run": name, **changes}, page="")
        with written_atomically(run / "corpus", kind="corpus", key=KEY) as scratch:
            (scratch / "test.arrow").write_text(rows, encoding="utf-8")
        (run / "run.json").write_text("{}", encoding="utf-8")
        return run

    return make


def test_runs_reports_and_their_folders_can_be_given(make_run: MakeRun) -> None:
    first, second, third = (make_run(name) for name in ("a", "b", "c"))

    runs = read_runs([first, second / "report" / "report.json", third / "report"])

    assert [run.name for run in runs] == ["a", "b", "c"]
    assert len({run.rows_digest for run in runs}) == 1
    assert runs[0].rows_digest is not None


def test_alike_runs_are_compared_without_a_warning(make_run: MakeRun) -> None:
    assert obstacles(read_runs([make_run("a"), make_run("b")])) == []


def test_the_same_run_twice_is_one_run(make_run: MakeRun) -> None:
    run = make_run("a")

    with pytest.raises(NothingToCompare, match=r"'.*a' alone cannot be compared"):
        read_runs([run, run / ".." / "a"])


def test_runs_of_one_name_go_by_their_places(make_run: MakeRun, tmp_path: Path) -> None:
    first, second = make_run("here/demo"), make_run("there/demo")
    for run in (first, second):
        data = json.loads((run / "report" / "report.json").read_text(encoding="utf-8"))
        (run / "copy.json").write_text(json.dumps({**data, "run": "demo"}), encoding="utf-8")

    runs = read_runs([first / "copy.json", second / "copy.json"])

    assert [run.name for run in runs] == [str(tmp_path / place / "demo" / "copy.json") for place in ("here", "there")]


def test_a_folder_without_a_report_is_refused(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ArtifactMissing, match=r"'.*empty' is not a run"):
        read_runs([make_run("a"), tmp_path / "empty"])


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"run": 1}', "\x00"])
def test_a_file_that_is_no_report_is_refused(make_run: MakeRun, tmp_path: Path, text: str) -> None:
    (tmp_path / "some.json").write_text(text, encoding="utf-8")

    with pytest.raises(ArtifactMissing, match=r"some\.json' is not a report"):
        read_runs([make_run("a"), tmp_path / "some.json"])


def test_a_damaged_report_is_refused(make_run: MakeRun) -> None:
    run = make_run("b")
    (run / "report" / "report.json").write_text("{}", encoding="utf-8")

    with pytest.raises(ArtifactDamaged):
        read_runs([make_run("a"), run])


def test_other_rows_are_warned_about(make_run: MakeRun) -> None:
    runs = read_runs([make_run("a"), make_run("b", judged_rows=12, rows="others"), make_run("c")])

    (warning,) = obstacles(runs)

    assert "judged on different rows" in warning
    assert "a, c: 801 test rows of toy; b: 12 test rows of toy" in warning


def test_other_rows_of_the_same_number_are_warned_about(make_run: MakeRun) -> None:
    (warning,) = obstacles(read_runs([make_run("a"), make_run("b", rows="others")]))

    assert warning.endswith("all have 801 test rows of toy, but not the same ones")


def test_the_same_rows_under_another_name_compare(make_run: MakeRun, report: dict[str, Any]) -> None:
    renamed = {**report["corpus"], "name": "toy again"}

    assert obstacles(read_runs([make_run("a"), make_run("b", corpus=renamed)])) == []


def test_other_classes_do_not_compare_even_on_the_same_rows(make_run: MakeRun, report: dict[str, Any]) -> None:
    turned = {**report["corpus"], "labels": ["positive", "negative"]}

    assert len(obstacles(read_runs([make_run("a"), make_run("b", corpus=turned)]))) == 1


@pytest.mark.parametrize("change", [{"cpu": "Another"}, {"threads": 2}])
def test_other_machines_are_warned_about(make_run: MakeRun, report: dict[str, Any], change: dict[str, Any]) -> None:
    (warning,) = obstacles(read_runs([make_run("a"), make_run("b", machine={**report["machine"], **change})]))

    assert warning.startswith("times were measured under different conditions")
    assert "a: A Processor, 1 thread;" in warning


def test_leaked_rows_of_any_run_are_warned_about(make_run: MakeRun, report: dict[str, Any]) -> None:
    leaky = {"mode": "report", "splits": {"test": {"rows": 801, "found": 11, "verbatim": 9}}}

    (warning,) = obstacles(read_runs([make_run("a"), make_run("b", corpus={**report["corpus"], "overlap": leaky})]))

    assert warning.startswith("b: 11 of 801 test rows appear in train")


def test_stored_answers_decide_whether_rows_are_the_same(make_run: MakeRun, report: dict[str, Any]) -> None:
    def store(run: Path, labels: list[int]) -> Path:
        names = [[str(label)] for label in labels]
        save_right_rows(run / "report", {"bilstm": [True, False]}, keys=[b"a", b"b"], labels=names)
        return run / "report" / "report.json"

    renamed = {**report["corpus"], "name": "renamed"}
    one, same, other = (store(make_run(name, corpus=renamed if name == "same" else report["corpus"], rows=name), labels)
                        for name, labels in {"one": [0, 1], "same": [0, 1], "other": [1, 1]}.items())  # fmt: skip

    assert obstacles(read_runs([one, same])) == []
    assert "not the same ones" in obstacles(read_runs([one, other]))[0]
