"""Which models are compared and which are refused; a whole bench on tiny models, and what its numbers mean."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import ArtifactMissing, DependencyMissing
from limbeck.progress import SilentReporter
from limbeck.timing import bench as bench_module
from limbeck.timing.bench import MOST_SECONDS_PER_CALL, ModelsNotAlike, bench, bench_plans, compared, subjects_of
from limbeck.timing.protocol import Case, Subject, TimedModel, Timing
from limbeck.timing.texts import TextFile

SLOW, FAST = (Subject(name=name, kind="model", folder=Path(name)) for name in ("slow", "fast"))


def timed(*milliseconds: float, batch: int = 1) -> TimedModel:
    """A model that took so long for its calls."""
    return TimedModel("onnx", {Case(1, batch): Timing(list(milliseconds), [1000 * batch / milliseconds[0]])})


def test_without_a_teacher_the_slowest_is_what_the_others_are_measured_by() -> None:
    found = compared([FAST, SLOW], [timed(2.0), timed(50.0)])

    assert found["measured_by"] == "slow"
    assert [model["cases"][0]["times_faster"] for model in found["models"]] == [25.0, 1.0]


def test_a_model_on_two_engines_is_called_by_both_names() -> None:
    found = compared(
        [SLOW, SLOW], [TimedModel("onnxruntime", timed(9.0).cases), TimedModel("native avx2", timed(1.0).cases)]
    )

    assert found["measured_by"] == "slow on onnxruntime"
    assert [model["engine"] for model in found["models"]] == ["onnxruntime", "native avx2"]


def test_a_teacher_is_what_the_others_are_measured_by_even_if_it_is_quicker() -> None:
    teacher = Subject(name="teacher", kind="teacher", folder=Path("teacher"), is_teacher=True)

    found = compared([teacher, SLOW], [timed(10.0), timed(40.0)])

    assert found["measured_by"] == "teacher"
    assert found["models"][1]["cases"][0]["times_faster"] == 0.25


def test_a_case_that_the_reference_was_too_slow_for_has_no_ratio() -> None:
    fast = timed(1.0)
    fast.cases |= timed(8.0, batch=32).cases

    found = compared([SLOW, FAST], [timed(50.0), fast])

    assert [case["times_faster"] for case in found["models"][1]["cases"]] == [50.0, None]


def test_a_case_tells_percentiles_calls_and_rate() -> None:
    found = compared([SLOW], [timed(*map(float, range(1, 102)))])

    (case,) = found["models"][0]["cases"]
    assert case["call_ms"] == {"p50": 51.0, "p95": 96.0, "p99": 100.0}
    assert (case["threads"], case["batch"], case["calls"], case["rows_per_second"]) == (1, 1, 101, 1000.0)


def test_one_text_a_call_is_timed_in_every_round_and_no_call_takes_too_long() -> None:
    plans = bench_plans(["a"], threads=[1, 2], batches=[1, 32], seconds=4.0)

    assert [plan.case for plan in plans] == [Case(1, 1), Case(1, 32), Case(2, 1), Case(2, 32)]
    assert [plan.every_round for plan in plans] == [True, False, True, False]
    assert {(plan.seconds, plan.most_seconds_per_call) for plan in plans} == {(0.5, MOST_SECONDS_PER_CALL)}


def test_a_bench_of_models_of_pairs_on_a_file(pair_model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("a film\ta story\nanother film\tno story\n", encoding="utf-8")

    found = bench(
        [pair_model],
        texts=TextFile(tmp_path / "rows.txt"),
        threads=[1],
        batches=[3],
        seconds=0.05,
        reporter=SilentReporter(),
    )

    assert found["texts"] == {
        "source": str(tmp_path / "rows.txt"), "count": 2, "pairs": True, "median_characters": 16
    }  # fmt: skip
    assert [case["batch"] for case in found["models"][0]["cases"]] == [1, 3]
    assert all(case["rows_per_second"] > 0 for case in found["models"][0]["cases"])


def test_a_teacher_in_pytorch_is_timed_beside_the_model(model: Path, tiny_teacher_folder: Path) -> None:
    """Loads torch in a worker."""
    found = bench(
        [model],
        teacher=tiny_teacher_folder,
        threads=[1],
        batches=[2],
        seconds=0.1,
        reporter=SilentReporter(),
    )

    assert found["models"][0]["engine"] == "pytorch"
    assert found["measured_by"] == tiny_teacher_folder.name
    assert found["models"][1]["cases"][0]["times_faster"] > 1
    assert found["texts"]["source"] == "built in"


@pytest.mark.parametrize(("threads", "expected"), [([2, 1, 2], {1, 2}), ([3], {3})])
def test_models_are_timed_on_the_threads_asked_for(model: Path, threads: list[int], expected: set[int]) -> None:
    found = bench([model], threads=threads, batches=[], seconds=0.02, reporter=SilentReporter())

    assert {case["threads"] for case in found["models"][0]["cases"]} == expected


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
    monkeypatch.setattr(bench_module, "find_spec", lambda name: None if name == "torch" else object())


def test_a_model_folder_is_one_model(model: Path) -> None:
    (found,) = subjects_of([model], teacher=None, engine="auto", reporter=SILENT)

    assert (found.name, found.kind, found.engine, found.is_teacher) == ("small", "model", "auto", False)
    assert (found.language, found.pair) == ("en", False)
    assert found.size_mb > 0


def test_a_run_is_its_teacher_and_all_its_models(run: Path) -> None:
    found = subjects_of([run], teacher=None, engine="auto", reporter=SILENT)

    assert [(one.name, one.kind, one.is_teacher) for one in found] == [
        ("tiny", "teacher", True),
        ("bilstm", "model", False),
        ("bilstm-int8", "model", False),
    ]
    assert found[0].max_length == 32


def test_a_teacher_that_is_given_takes_the_place_of_the_runs_own(run: Path, tiny_teacher_folder: Path) -> None:
    found = subjects_of([run], teacher=tiny_teacher_folder, engine="auto", reporter=SILENT)

    assert [one.kind for one in found] == ["teacher", "model", "model"]
    assert found[0].name == tiny_teacher_folder.name
    assert found[0].max_length is None
    assert found[0].size_mb > 0


def test_an_exported_model_may_be_the_teacher(model: Path, run: Path) -> None:
    found = subjects_of([run / "models" / "bilstm"], teacher=model, engine="auto", reporter=SILENT)

    assert [(one.name, one.is_teacher) for one in found] == [("small", True), ("bilstm", False)]


def test_the_same_folder_is_timed_once(run: Path) -> None:
    found = subjects_of([run / "models" / "bilstm", run], teacher=None, engine="auto", reporter=SILENT)

    assert [one.name for one in found] == ["tiny", "bilstm", "bilstm-int8"]


def test_models_of_one_name_are_named_with_their_runs(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "news")

    models = [run / "models" / "bilstm", tmp_path / "news" / "models" / "bilstm"]
    found = subjects_of(models, teacher=None, engine="auto", reporter=SILENT)

    assert [one.name for one in found] == ["reviews/bilstm", "news/bilstm"]


def test_the_engine_is_handed_on(model: Path) -> None:
    (found,) = subjects_of([model], teacher=None, engine="onnx", reporter=SILENT)

    assert found.engine == "onnx"
    assert found.load_request(threads=1)["engine"] == "onnx"


def test_with_all_engines_a_model_runs_at_least_on_the_one_that_is_always_there(model: Path) -> None:
    found = subjects_of([model], teacher=None, engine="all", reporter=SILENT)

    assert [one.engine for one in found] in (["onnx"], ["onnx", "native"])
    assert {one.name for one in found} == {"small"}


def test_models_of_pairs_and_of_single_texts_are_not_timed_together(model: Path, pair_model: Path) -> None:
    with pytest.raises(ModelsNotAlike, match="single texts: small; pairs: of-pairs"):
        subjects_of([model, pair_model], teacher=None, engine="auto", reporter=SILENT)


def test_a_run_without_models_is_refused_with_how_to_go_on(run: Path) -> None:
    shutil.rmtree(run / "models")

    with pytest.raises(ArtifactMissing, match=r"it has no models yet\nContinue with: limbeck run"):
        subjects_of([run], teacher=None, engine="auto", reporter=SILENT)


def test_a_run_that_was_changed_and_not_finished_gets_a_note_that_its_models_are_older(run: Path, notes: Any) -> None:
    for place, fingerprint, inputs in (
        ("report", "r1", {"bilstm/0": "e1"}),
        ("exports/bilstm/0", "e1", {"student": "s1"}),
        ("students/bilstm/0", "s2", {}),  # trained again, not exported yet
    ):
        (run / place).mkdir(parents=True)
        manifest = {"fingerprint": fingerprint, "key": {"section": {}, "inputs": inputs}}
        (run / place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    found = subjects_of([run], teacher=None, engine="auto", reporter=notes)

    assert [one.name for one in found] == ["tiny", "bilstm", "bilstm-int8"]
    (line,) = notes.lines
    assert "reviews was changed and not finished: its models are from before that (bilstm is newer)" in line


@pytest.mark.usefixtures("without_torch")
def test_without_torch_a_run_is_timed_without_its_teacher(run: Path, notes: Any) -> None:
    found = subjects_of([run], teacher=None, engine="auto", reporter=notes)

    assert [one.kind for one in found] == ["model", "model"]
    assert notes.lines == ["  reviews is timed without its teacher: 'torch' is missing, pip install 'limbeck[train]'"]


@pytest.mark.usefixtures("without_torch")
def test_without_torch_a_teacher_that_is_asked_for_is_refused(model: Path, tiny_teacher_folder: Path) -> None:
    with pytest.raises(DependencyMissing, match=r"--teacher needs the package 'torch'\nRun: pip install"):
        subjects_of([model], teacher=tiny_teacher_folder, engine="auto", reporter=SILENT)


def test_a_teacher_that_is_a_file_of_answers_is_left_out_or_refused(run: Path, model: Path, notes: Any) -> None:
    card = run / "teacher" / "teacher.json"
    facts = json.loads(card.read_text(encoding="utf-8"))
    card.write_text(json.dumps({**facts, "kind": "file"}), encoding="utf-8")

    assert [one.kind for one in subjects_of([run], teacher=None, engine="auto", reporter=notes)] == ["model", "model"]
    assert "one of the kind 'file' cannot be run" in notes.lines[0]
    with pytest.raises(ArtifactMissing, match="of the kind 'file', which cannot be run"):
        subjects_of([model], teacher=run / "teacher", engine="auto", reporter=SILENT)


@pytest.mark.parametrize(("name", "reason"), [("", "it has no config.json"), ("gone", "there is no such folder")])
def test_a_folder_that_is_not_a_teacher_is_refused(model: Path, tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ArtifactMissing, match=f"is not a teacher: {reason}"):
        subjects_of([model], teacher=tmp_path / name, engine="auto", reporter=SILENT)
