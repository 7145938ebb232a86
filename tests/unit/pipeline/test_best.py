"""models/best: a copy of the model that the report names, removed as soon as it is none of the current ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.candidate import Candidate
from limbeck.artifacts.manifest import Key, faults_of, read_manifest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.report import Report, save_report
from limbeck.artifacts.run_folder import RunFolder
from limbeck.pipeline.exports import current_best, ship_best
from limbeck.progress import SilentReporter

MakeCandidate = Callable[[str, str], Candidate]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """An empty run."""
    return RunFolder(folder=tmp_path, reporter=SilentReporter(), facts={})


@pytest.fixture
def make_candidate(tmp_path: Path) -> MakeCandidate:
    """make_candidate(name, content): a candidate with a shipped file of this content."""

    def make(name: str, content: str) -> Candidate:
        folder = tmp_path / "models" / name
        with written_atomically(folder, kind="model", key=Key(section={}, inputs={"export": content})) as scratch:
            (scratch / "model.onnx").write_text(content, encoding="utf-8")
        return Candidate(name, "student", exports={}, shipped=ModelFolder(folder), students={})

    return make


def report_of(run: RunFolder, best: str | None) -> Report:
    with written_atomically(run.folder / "report", kind="report", key=Key(section={}, inputs={})) as scratch:
        save_report(scratch, data={"best": best}, page="")
    return Report(run.folder / "report")


def test_the_named_model_is_copied(run: RunFolder, make_candidate: MakeCandidate) -> None:
    candidates = [make_candidate("bilstm-alone", "a"), make_candidate("bilstm", "b")]

    (best,) = ship_best(report_of(run, "bilstm"), candidates, run)

    assert faults_of(best.folder, read_manifest(best.folder, kind="model")) == []
    assert best.graph.read_text(encoding="utf-8") == "b"
    assert sorted(path.name for path in (run.folder / "models").iterdir()) == ["best", "bilstm", "bilstm-alone"]
    assert current_best(candidates, run) == ["best"]


def test_another_choice_replaces_it_and_none_removes_it(run: RunFolder, make_candidate: MakeCandidate) -> None:
    candidates = [make_candidate("bilstm-alone", "a"), make_candidate("bilstm", "b")]
    ship_best(report_of(run, "bilstm"), candidates, run)

    (best,) = ship_best(report_of(run, "bilstm-alone"), candidates, run)
    assert best.graph.read_text(encoding="utf-8") == "a"

    assert ship_best(report_of(run, None), candidates, run) == []
    assert not best.folder.exists()


def test_a_copy_of_an_earlier_model_is_not_current(run: RunFolder, make_candidate: MakeCandidate) -> None:
    ship_best(report_of(run, "bilstm"), [make_candidate("bilstm", "b")], run)

    assert current_best([make_candidate("bilstm", "trained again")], run) == []
