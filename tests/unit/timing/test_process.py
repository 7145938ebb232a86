"""The process of a model from outside: how it is started, how it ends, and what a real one loads."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.timing.process import WORKER, ModelNotTimed, WorkerProcess, pinned_environment

CHATTY_WORKER = """
import os
from limbeck.timing import worker

def opened(request):
    print("hello")
    os.system("echo hello")
    return worker.Opened(lambda rows: ["yes"] * len(rows), engine="chatty")

worker.opened = opened
worker.main()
"""


TURN = {"case": 0, "batch": 1, "seconds": 0.0, "least_calls": 1, "most_calls": 1, "settling_seconds": 0.0}


def test_a_worker_that_dies_is_an_error_with_its_last_words() -> None:
    command = [sys.executable, "-c", "raise SystemExit('the weights are gone')"]

    with (
        pytest.raises(ModelNotTimed, match=r"times 'bilstm' ended with status 1\n.*the weights are gone"),
        WorkerProcess("bilstm", threads=1, command=command) as worker,
    ):
        worker.ask(do="load")


@pytest.mark.parametrize("stopped_by", [ValueError, KeyboardInterrupt])
def test_workers_end_when_the_timing_is_broken_off(stopped_by: type[BaseException]) -> None:
    forever = [sys.executable, "-c", "import time\nwhile True: time.sleep(60)"]

    worker = WorkerProcess("stubborn", threads=1, command=forever)

    def broken_off() -> None:
        with worker:
            raise stopped_by

    with pytest.raises(stopped_by):
        broken_off()
    assert worker._process.returncode == -9


def test_a_worker_leaves_by_itself_when_it_is_no_longer_needed() -> None:
    with WorkerProcess("idle", threads=1) as worker:
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

    with WorkerProcess("bilstm", threads=1) as worker:
        loaded = worker.ask(do="load", kind="model", folder=str(model.folder), threads=1, engine="auto")
        samples = worker.ask(do="turn", rows=["a gorgeous film"], **TURN)["samples_ms"]

    assert loaded["heavy_modules"] == []
    assert 0 < samples[0] < 1000


def test_what_a_library_prints_does_not_break_the_protocol(tmp_path: Path) -> None:
    """A chatty runtime takes the place of the real one: its greeting must not reach the parent as an answer."""
    chatty = tmp_path / "limbeck_chatty.py"
    chatty.write_text(CHATTY_WORKER)

    with WorkerProcess("chatty", threads=1, command=[sys.executable, str(chatty)]) as worker:
        assert worker.ask(do="load") == {"engine": "chatty", "heavy_modules": []}


def test_the_worker_ends_when_its_parent_is_gone() -> None:
    """Whoever kills the parent closes the pipe, and that is all a worker waits for."""
    done = subprocess.run(WORKER, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    assert done.returncode == 0
    assert done.stdout == b""
