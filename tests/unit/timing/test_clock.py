"""Timing in processes of their own: who works when, on how many threads, and what a teacher takes."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.progress import SilentReporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.timing.clock import Subject, Timing, time_models
from limbeck.timing.throughput import ThroughputCase

FAKE_WORKER = """
import sys
from limbeck.timing.clock_worker import serve

def opened(request):
    def predict(rows):
        with open(sys.argv[1], "a") as log:
            log.write(f"{request['folder']} {len(rows)} {request['threads']}\\n")
        return ["yes"] * len(rows)
    return predict

serve(sys.stdin, sys.stdout, opened=opened)
"""
SECTION = Evaluation(latency_rows=2, latency_rounds=2, throughput_rows=30, throughput_batches=[])


def fake_command(tmp_path: Path) -> list[str]:
    """A worker whose model only writes down that it was called."""
    script = tmp_path / "fake_worker.py"
    script.write_text(FAKE_WORKER)
    return [sys.executable, str(script), str(tmp_path / "calls")]


def subject(name: str) -> Subject:
    """Something to time that the fake worker takes."""
    return Subject(name=name, kind="model", folder=Path(name), max_length=8)


def test_models_take_turns_over_the_same_texts(tmp_path: Path) -> None:
    timings = time_models(
        SECTION,
        subjects=[subject("slow"), subject("fast")],
        rows=["one", "two", "three"],
        reporter=SilentReporter(),
        command=fake_command(tmp_path),
    )

    calls = [line.split()[:2] for line in (tmp_path / "calls").read_text().splitlines()]
    warm_up = [["slow", "1"]] * 16 + [["slow", "16"]] * 2 + [["fast", "1"]] * 16 + [["fast", "16"]] * 2
    one_round = [["slow", "1"]] * 2 + [["fast", "1"]] * 2 + [["slow", "30"], ["fast", "30"]]
    assert calls == warm_up + one_round * 2
    assert [len(timing.samples_ms) for timing in timings] == [4, 4]
    assert [len(timing.rates) for timing in timings] == [2, 2]
    assert [list(timing.throughput) for timing in timings] == [[ThroughputCase(1, 1)]] * 2


def test_batches_are_timed_on_the_threads_asked_for_and_then_on_all_cores(tmp_path: Path) -> None:
    section = SECTION.model_copy(update={"throughput_batches": [5, 7], "latency_rounds": 1})

    (timing,) = time_models(
        section,
        subjects=[subject("only")],
        rows=["one", "two", "three"],
        reporter=SilentReporter(),
        command=fake_command(tmp_path),
        cores=3,
    )

    calls = [line.split()[1:] for line in (tmp_path / "calls").read_text().splitlines()]
    by_threads = {threads: {int(rows) for rows, its in calls if its == threads} for threads in ("1", "3")}
    assert by_threads == {"1": {1, 16, 30, 5, 7}, "3": {1, 16, 5, 7}}  # 16 rows are a warm-up
    assert list(timing.throughput) == [
        ThroughputCase(1, 1),
        ThroughputCase(1, 5),
        ThroughputCase(1, 7),
        ThroughputCase(1, 5, "short"),
        ThroughputCase(1, 5, "long"),
        ThroughputCase(3, 1),
        ThroughputCase(3, 5),
        ThroughputCase(3, 7),
    ]
    assert all(rate > 0 for rate in timing.throughput.values())


def test_percentiles_are_over_all_samples_and_throughput_is_the_median() -> None:
    timing = Timing(samples_ms=[float(number) for number in range(1, 102)], rates=[10.0, 90.0, 30.0])

    assert timing.p50_ms == 51.0
    assert timing.p95_ms == 96.0
    assert timing.p99_ms == 100.0
    assert timing.rows_per_second == 30.0


def test_throughput_of_one_text_a_call_is_that_of_all_samples_and_of_a_case_the_median() -> None:
    by_case = {ThroughputCase(4, 32): [100.0, 500.0, 200.0]}
    timing = Timing(samples_ms=[10.0, 30.0], rates=[1.0], threads=4, by_case=by_case)

    assert timing.throughput == {ThroughputCase(4, 1): 50.0, ThroughputCase(4, 32): 200.0}


def test_a_model_that_cannot_be_loaded_is_an_error_with_the_reason(tmp_path: Path) -> None:
    missing = Subject(name="bilstm", kind="model", folder=tmp_path / "nowhere", max_length=8)

    with pytest.raises(RuntimeError, match="nowhere' is not a model"):
        time_models(SECTION, subjects=[missing], rows=["a"], reporter=SilentReporter())


def test_the_teacher_is_timed_like_the_others(
    tiny_teacher_folder: Path, make_model: Callable[..., ModelFolder]
) -> None:
    """The one test that loads torch in a worker."""
    subjects = [
        Subject(name="teacher", kind="teacher", folder=tiny_teacher_folder, max_length=32),
        Subject(name="bilstm", kind="model", folder=make_model("bilstm").folder, max_length=16),
    ]

    teacher, student = time_models(SECTION, subjects=subjects, rows=["a gorgeous film"], reporter=SilentReporter())

    assert teacher.p50_ms > student.p50_ms > 0
    assert student.rows_per_second > teacher.rows_per_second > 0
