"""Several processes at once: each tells its own, none outlives the one who asked, and lack of memory is waited out."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from limbeck.training import side_by_side
from limbeck.training.loop import TrainingDiverged
from limbeck.training.side_by_side import TrainingLost, run_side_by_side

# What the processes do, in a module that they find only if they look where this one looks.
WORK = """
import ctypes, os, signal, sys
from pathlib import Path
import torch

def tell_twice(job, tell):
    tell({"number": job["number"]})
    tell(os.environ.get("CUDA_VISIBLE_DEVICES"))

def tell_surroundings(job, tell):
    tell({"threads": torch.get_num_threads(), "group": sorted({"RANK", "LOCAL_RANK", "MASTER_PORT"} & set(os.environ))})

def fail(job, tell):
    match job.get("how"):
        case "diverge":
            from limbeck.training.loop import TrainingDiverged  # only here: it takes seconds
            raise TrainingDiverged(what="the student", epoch=3, learning_rate=0.1)
        case "break":
            raise KeyError("nobody foresaw this")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "unfound":
            raise ModuleNotFoundError("No module named 'jieba'", name="jieba")
        case "leave":
            sys.exit(0)
        case "crash":
            ctypes.string_at(0)
    Path(job["waits"]).read_bytes()  # of a pipe that nobody writes to

def need_memory(job, tell):
    tell("begun")
    if "sees" in job:
        Path(job["sees"]).write_text("seen")  # the pipe's other end: both are at work now
        return
    first = Path(job["mark"])
    if not first.exists():
        first.touch()
        Path(job["waits"]).read_text()
        if job["how"] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise torch.OutOfMemoryError("CUDA out of memory")

def wait(job, tell):
    with open(job["pipe"], "w") as pipe:
        pipe.write("here\\n")
        pipe.flush()
        signal.pause()
"""
PARENT = """
import sys
from limbeck.training.side_by_side import run_side_by_side

class Nobody:
    def told(self, name, message): pass
    def finished(self, name, *, seconds): pass
    def put_off(self, name): pass

if __name__ == "__main__":
    run_side_by_side("toy_side_work:wait", {"one": {"pipe": sys.argv[1]}}, at_once=1, listener=Nobody())
"""


class Notes:
    """Remembers what came in."""

    def __init__(self) -> None:
        self.messages: dict[str, list[Any]] = {}
        self.seconds: dict[str, float] = {}
        self.waited: list[str] = []

    def told(self, name: str, message: Any) -> None:
        self.messages.setdefault(name, []).append(message)

    def finished(self, name: str, *, seconds: float) -> None:
        self.seconds[name] = seconds

    def put_off(self, name: str) -> None:
        self.waited.append(name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "toy_side_work.py").write_text(WORK, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def children() -> set[str]:
    """The processes that this one has started and not yet seen ending."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split())


@pytest.mark.usefixtures("folder")
def test_each_tells_under_its_name_and_gets_a_gpu_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, 3")
    monkeypatch.setattr(sys, "path", [*sys.path, Path("elsewhere")])  # what is no text there is passed over
    notes = Notes()

    jobs = {name: {"number": number} for number, name in enumerate(("one", "two", "three"))}
    run_side_by_side("toy_side_work:tell_twice", jobs, at_once=2, listener=notes)

    assert {name: told[0]["number"] for name, told in notes.messages.items()} == {"one": 0, "two": 1, "three": 2}
    assert notes.messages["one"][1:] == ["5"]
    assert notes.messages["two"][1:] == ["3"]
    assert all(notes.seconds[name] > 0 for name in jobs)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("has_gpu", "expected"), [(False, 8), (True, 4)])
def test_cores_are_shared_out_where_a_gpu_adds_up_the_sums_and_nobody_is_in_a_group(
    has_gpu: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT"):  # as torchrun has them for a single process
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    notes = Notes()

    run_side_by_side("toy_side_work:tell_surroundings", {"one": {}, "two": {}}, at_once=2, listener=notes)

    assert [told[0]["threads"] for told in notes.messages.values()] == [expected, expected]
    assert [told[0]["group"] for told in notes.messages.values()] == [[], []]


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ("break", RuntimeError, "(?s)the process of bad failed.*Traceback.*KeyError: 'nobody foresaw this'"),
        ("unfound", ModuleNotFoundError, "jieba"),
        ("leave", RuntimeError, "(?s)the process of bad failed.*SystemExit: 0"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_one_that_fails_says_why(how: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        run_side_by_side("toy_side_work:fail", {"bad": {"how": how}}, at_once=1, listener=Notes())


def test_one_that_fails_ends_the_others_and_its_error_keeps_its_facts(folder: Path) -> None:
    before = children()
    jobs = {"bad": {"how": "diverge"}, "good": {"waits": str(folder / "pipe")}}

    with pytest.raises(TrainingDiverged) as raised:
        run_side_by_side("toy_side_work:fail", jobs, at_once=2, listener=Notes())

    assert children() == before
    assert (raised.value.model, raised.value.epoch) == ("the student", 3)
    assert "0.1" in raised.value.found
    assert "learning_rate" in raised.value.advice


@pytest.mark.usefixtures("folder")
def test_one_that_crashes_says_where(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="ended with status -11; what it said stands above"):
        run_side_by_side("toy_side_work:fail", {"bad": {"how": "crash"}}, at_once=1, listener=Notes())

    assert "toy_side_work.py" in capfd.readouterr().err


@pytest.mark.usefixtures("folder")
def test_one_that_is_killed_with_none_beside_it_is_lost() -> None:
    with pytest.raises(TrainingLost, match="the process that trained 'bad' was ended by the system"):
        run_side_by_side("toy_side_work:fail", {"bad": {"how": "die"}}, at_once=2, listener=Notes())


def test_a_lack_of_memory_is_known_by_what_the_libraries_say() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(10**15)
    no_handle = RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`")

    found = [side_by_side._last_words(error)["lacked_memory"] for error in (refused.value, no_handle, KeyError("a"))]

    assert found == [True, True, False]


@pytest.mark.parametrize("how", ["told", "killed"])
def test_one_without_memory_beside_another_is_started_again_when_that_is_done(folder: Path, how: str) -> None:
    pipe = str(folder / "pipe")
    notes = Notes()

    run_side_by_side(
        "toy_side_work:need_memory",
        {"large": {"how": how, "waits": pipe, "mark": str(folder / "mark")}, "small": {"sees": pipe}},
        at_once=2,
        listener=notes,
    )

    assert notes.waited == ["large"]
    assert notes.messages == {"large": ["begun", "begun"], "small": ["begun"]}
    assert notes.seconds.keys() == {"large", "small"}


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_none_outlives_the_process_that_started_it(folder: Path, end: signal.Signals) -> None:
    (folder / "parent.py").write_text(PARENT, encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, str(folder / "parent.py"), str(folder / "pipe")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    send = os.killpg if end == signal.SIGINT else os.kill  # Ctrl-C comes to all of them

    with (folder / "pipe").open(encoding="utf-8") as pipe:
        assert pipe.readline() == "here\n"
        send(parent.pid, end)
        rest = pipe.read()  # until the process at the other end is gone

    _, said = parent.communicate()
    assert rest == ""
    assert parent.returncode == -end
    assert said.count("Traceback") == (end == signal.SIGINT)  # the parent's own


def test_one_whose_parent_ends_while_it_starts_ends_without_a_word() -> None:
    command = [sys.executable, *side_by_side.MEMBER, "1"]

    member = subprocess.run(command, input="", capture_output=True, text=True, check=False)

    assert (member.returncode, member.stdout, member.stderr) == (1, "", "")


def test_where_the_system_does_not_see_to_it_the_end_of_input_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    pieces = [b"more", b""]
    system = SimpleNamespace(read=lambda _file, _count: pieces.pop(0), _exit=ended.append)
    monkeypatch.setattr(side_by_side, "os", system)

    side_by_side._end_with_input()

    assert ended == [1]


@pytest.mark.parametrize(
    ("count", "named", "expected"),
    [(0, "", []), (1, "GPU-7", []), (2, "", ["0", "1"]), (2, "GPU-7, GPU-9,GPU-8", ["GPU-7", "GPU-9"])],
)
def test_gpus_have_the_names_that_the_environment_gives_them(
    count: int, named: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    assert side_by_side._gpus() == expected
