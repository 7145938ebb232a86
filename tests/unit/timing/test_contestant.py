"""Who takes part: models, runs with their teachers, and who is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import ArtifactMissing, DependencyMissing, ModelsNotAlike
from limbeck.progress import SilentReporter
from limbeck.timing import contestant
from limbeck.timing.contestant import line_up

SILENT = SilentReporter()


@pytest.fixture
def run(tmp_path: Path, model: Path, make_teacher: Callable[..., Any]) -> Path:
    """A run with a teacher and two models."""
    folder = tmp_path / "reviews"
    for name in ("bilstm", "bilstm-int8"):
        shutil.copytree(model, folder / "models" / name)
    make_teacher(folder / "teacher", parameters=1000)
    (folder / "run.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """An install that has no PyTorch."""
    monkeypatch.setattr(contestant, "find_spec", lambda name: None if name == "torch" else object())


def test_a_model_folder_stands_for_itself(model: Path) -> None:
    (found,) = line_up([model], teacher=None, engine="auto", reporter=SILENT)

    assert (found.name, found.kind, found.engine, found.is_teacher) == ("small", "model", "auto", False)
    assert (found.language, found.pair) == ("en", False)
    assert found.size_mb > 0


def test_a_run_stands_for_its_teacher_and_all_its_models(run: Path) -> None:
    found = line_up([run], teacher=None, engine="auto", reporter=SILENT)

    assert [(one.name, one.kind, one.is_teacher) for one in found] == [
        ("tiny", "teacher", True),
        ("bilstm", "model", False),
        ("bilstm-int8", "model", False),
    ]
    assert found[0].max_length == 32


def test_a_teacher_that_is_given_takes_the_place_of_the_runs_own(run: Path, tiny_teacher_folder: Path) -> None:
    found = line_up([run], teacher=tiny_teacher_folder, engine="auto", reporter=SILENT)

    assert [one.kind for one in found] == ["teacher", "model", "model"]
    assert found[0].name == tiny_teacher_folder.name
    assert found[0].max_length is None
    assert found[0].size_mb > 0


def test_an_exported_model_may_stand_for_the_teacher(model: Path, run: Path) -> None:
    found = line_up([run / "models" / "bilstm"], teacher=model, engine="auto", reporter=SILENT)

    assert [(one.name, one.is_teacher) for one in found] == [("small", True), ("bilstm", False)]


def test_the_same_folder_is_timed_once(run: Path) -> None:
    found = line_up([run / "models" / "bilstm", run], teacher=None, engine="auto", reporter=SILENT)

    assert [one.name for one in found] == ["tiny", "bilstm", "bilstm-int8"]


def test_models_of_one_name_are_told_apart_by_their_runs(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "news")

    found = line_up([run / "models" / "bilstm", tmp_path / "news" / "models" / "bilstm"], teacher=None, engine="auto",
                    reporter=SILENT)  # fmt: skip

    assert [one.name for one in found] == ["reviews/bilstm", "news/bilstm"]


def test_the_engine_is_handed_on(model: Path) -> None:
    (found,) = line_up([model], teacher=None, engine="onnx", reporter=SILENT)

    assert found.engine == "onnx"
    assert found.request()["engine"] == "onnx"


def test_with_all_engines_a_model_runs_at_least_on_the_one_that_is_always_there(model: Path) -> None:
    found = line_up([model], teacher=None, engine="all", reporter=SILENT)

    assert [one.engine for one in found] in (["onnx"], ["onnx", "native"])
    assert {one.name for one in found} == {"small"}


def test_models_of_pairs_and_of_single_texts_are_not_timed_together(model: Path, pair_model: Path) -> None:
    with pytest.raises(ModelsNotAlike, match="single texts: small; pairs: of-pairs"):
        line_up([model, pair_model], teacher=None, engine="auto", reporter=SILENT)


def test_a_run_without_models_is_told_how_to_go_on(run: Path) -> None:
    shutil.rmtree(run / "models")

    with pytest.raises(ArtifactMissing, match=r"it has no models yet\nGo on with: limbeck run"):
        line_up([run], teacher=None, engine="auto", reporter=SILENT)


def test_of_a_run_that_was_changed_and_not_finished_it_is_told_that_its_models_are_older(run: Path, notes: Any) -> None:
    for place, fingerprint, inputs in (
        ("report", "r1", {"bilstm/0": "e1"}),
        ("exports/bilstm/0", "e1", {"student": "s1"}),
        ("students/bilstm/0", "s2", {}),  # trained anew, not exported yet
    ):
        (run / place).mkdir(parents=True)
        manifest = {"fingerprint": fingerprint, "key": {"section": {}, "inputs": inputs}}
        (run / place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    found = line_up([run], teacher=None, engine="auto", reporter=notes)

    assert [one.name for one in found] == ["tiny", "bilstm", "bilstm-int8"]
    (line,) = notes.lines
    assert "reviews was changed and not finished: its models are those of before (bilstm is newer)" in line


@pytest.mark.usefixtures("without_torch")
def test_without_torch_a_run_is_timed_without_its_teacher(run: Path, notes: Any) -> None:
    found = line_up([run], teacher=None, engine="auto", reporter=notes)

    assert [one.kind for one in found] == ["model", "model"]
    assert notes.lines == [r"  reviews is timed without its teacher: 'torch' is missing, pip install 'limbeck\[train]'"]


@pytest.mark.usefixtures("without_torch")
def test_without_torch_a_teacher_that_is_asked_for_is_refused(model: Path, tiny_teacher_folder: Path) -> None:
    with pytest.raises(DependencyMissing, match=r"--teacher needs the package 'torch'\nRun: pip install"):
        line_up([model], teacher=tiny_teacher_folder, engine="auto", reporter=SILENT)


def test_a_teacher_that_is_a_file_of_answers_is_left_out_or_refused(run: Path, model: Path, notes: Any) -> None:
    card = run / "teacher" / "teacher.json"
    facts = json.loads(card.read_text(encoding="utf-8"))
    card.write_text(json.dumps({**facts, "kind": "file"}), encoding="utf-8")

    assert [one.kind for one in line_up([run], teacher=None, engine="auto", reporter=notes)] == ["model", "model"]
    assert "of the kind 'file' none can be run" in notes.lines[0]
    with pytest.raises(ArtifactMissing, match="of the kind 'file', which cannot be run"):
        line_up([model], teacher=run / "teacher", engine="auto", reporter=SILENT)


@pytest.mark.parametrize(("name", "reason"), [("", "it has no config.json"), ("gone", "there is no such folder")])
def test_a_folder_that_is_no_teacher_is_refused(model: Path, tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ArtifactMissing, match=f"is not a teacher: {reason}"):
        line_up([model], teacher=tmp_path / name, engine="auto", reporter=SILENT)
