"""Timing in processes of their own: who works when, how a worker ends, and what a real one loads."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.evaluation.clock import Subject, Timing, Worker, pinned_environment, taken, time_models
from limbeck.progress import SilentReporter
from limbeck.recipe.evaluation import Evaluation

FAKE_WORKER = """
import sys
from limbeck.evaluation.clock_worker import serve

def opened(request):
    def predict(rows):
        with open(sys.argv[1], "a") as log:
            log.write(f"{request['folder']} {len(rows)}\\n")
        return ["yes"] * len(rows)
    return predict

serve(sys.stdin, sys.stdout, opened=opened)
"""
CHATTY_WORKER = """
import os
from limbeck.evaluation import clock_worker

def opened(request):
    print("hello")
    os.system("echo hello")
    return lambda rows: ["yes"] * len(rows)

clock_worker.opened = opened
clock_worker.main()
"""
SECTION = Evaluation(latency_rows=2, latency_rounds=2, throughput_rows=30)


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

    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    warm_up = [["slow", "1"]] * 16 + [["slow", "16"]] * 2 + [["fast", "1"]] * 16 + [["fast", "16"]] * 2
    one_round = [["slow", "1"]] * 2 + [["fast", "1"]] * 2 + [["slow", "30"], ["fast", "30"]]
    assert calls == warm_up + one_round * 2
    assert [len(timing.samples_ms) for timing in timings] == [4, 4]
    assert [len(timing.rates) for timing in timings] == [2, 2]


def test_percentiles_are_over_all_samples_and_throughput_is_the_median() -> None:
    timing = Timing(samples_ms=[float(number) for number in range(1, 102)], rates=[10.0, 90.0, 30.0])

    assert timing.p50_ms == 51.0
    assert timing.p95_ms == 96.0
    assert timing.rows_per_second == 30.0


def test_rows_begin_again_where_there_are_not_enough() -> None:
    assert taken(["a", "b"], 5) == ["a", "b", "a", "b", "a"]


def test_a_worker_that_dies_is_an_error_with_its_last_words() -> None:
    command = [sys.executable, "-c", "raise SystemExit('the weights are gone')"]

    with (
        pytest.raises(RuntimeError, match="times 'bilstm' ended with status 1:\nthe weights are gone"),
        Worker("bilstm", threads=1, command=command) as worker,
    ):
        worker.ask(do="load")


def test_a_model_that_cannot_be_loaded_is_an_error_with_the_reason(tmp_path: Path) -> None:
    missing = Subject(name="bilstm", kind="model", folder=tmp_path / "nowhere", max_length=8)

    with pytest.raises(RuntimeError, match="nowhere' is not a model"):
        time_models(SECTION, subjects=[missing], rows=["a"], reporter=SilentReporter())


@pytest.mark.parametrize("stopped_by", [ValueError, KeyboardInterrupt])
def test_workers_end_when_the_timing_is_broken_off(stopped_by: type[BaseException]) -> None:
    forever = [sys.executable, "-c", "import time\nwhile True: time.sleep(60)"]

    worker = Worker("stubborn", threads=1, command=forever)

    def broken_off() -> None:
        with worker:
            raise stopped_by

    with pytest.raises(stopped_by):
        broken_off()
    assert worker._process.returncode == -9


def test_a_worker_leaves_by_itself_when_it_is_no_longer_needed(tmp_path: Path) -> None:
    with Worker("fake", threads=1, command=fake_command(tmp_path)) as worker:
        process = worker._process
        assert process.poll() is None

    assert process.returncode == 0


def test_thread_pools_are_pinned_and_the_rest_of_the_environment_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")

    environment = pinned_environment(2)

    assert {environment[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {"2"}
    assert environment["SOMETHING_ELSE"] == "kept"
    assert os.environ["OMP_NUM_THREADS"] == "64"


def test_a_students_worker_never_loads_torch(make_model: Callable[..., ModelFolder]) -> None:
    model = make_model("bilstm")

    with Worker("bilstm", threads=1) as worker:
        loaded = worker.ask(do="load", kind="model", folder=str(model.folder), max_length=16, threads=1)
        samples = worker.ask(do="latency", rows=["a gorgeous film"], seconds=1, least=1)["samples_ms"]

    assert loaded["heavy_modules"] == []
    assert 0 < samples[0] < 1000


def test_what_a_library_prints_does_not_break_the_protocol(tmp_path: Path) -> None:
    """A chatty runtime stands in for the real one: its greeting must not reach the parent as an answer."""
    chatty = tmp_path / "limbeck_chatty.py"
    chatty.write_text(CHATTY_WORKER)

    with Worker("chatty", threads=1, command=[sys.executable, str(chatty)]) as worker:
        assert worker.ask(do="load") == {"heavy_modules": []}


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


def test_the_worker_ends_when_its_parent_is_gone() -> None:
    """Whoever kills the parent closes the pipe, and that is all a worker waits for."""
    command = [sys.executable, "-m", "limbeck.evaluation.clock_worker"]

    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    assert done.returncode == 0
    assert done.stdout == b""
