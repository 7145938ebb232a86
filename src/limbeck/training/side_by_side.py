"""Several trainings at the same time, each in its own process that reports its progress."""

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import torch

from limbeck.errors import LimbeckError
from limbeck.training.processes import SECONDS_BETWEEN_POLLS, end_with_parent, packed_error, unpacked_error

MEMBER = ("-P", "-X", "faulthandler", "-m", "limbeck.training.side_by_side")  # faulthandler: crashes have a traceback
PIPE_BYTES = 1 << 16
OUT_OF_MEMORY = (
    "out of memory",
    "ALLOC_FAILED",
    "NOT_INITIALIZED",  # cuBLAS and cuDNN, without enough memory for their own handle
    "allocate memory",
)  # in errors of CUDA, its libraries and the system for which PyTorch has no class
# From these, accelerate reads its group of processes. A training here is never in one, even if this program is.
GROUP_VARIABLES = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    "TORCHELASTIC_USE_AGENT_STORE",
)

Send = Callable[[Any], None]


class TrainingLost(LimbeckError):
    """The system killed the process of a training while no other one was running."""

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"the process that trained '{what}' was killed by the system, most often because memory ran out",
            advice="Free some memory, or lower distillation.batch_size; the same command continues where it stopped.",
        )


class Listener(Protocol):
    """Is notified of the progress of the trainings."""

    def received(self, name: str, message: Any) -> None:
        """The job of this name has sent a message."""

    def finished(self, name: str, *, seconds: float) -> None:
        """It has ended without error, after this time."""

    def postponed(self, name: str) -> None:
        """It ran out of memory next to the others, and is started again when fewer are running."""


def run_side_by_side(function: str, jobs: Mapping[str, Any], *, at_once: int, listener: Listener) -> None:
    """Call a function ("module:name") as function(job, send) for each job, at most `at_once` at a time.

    Jobs and messages are plain JSON. Each job runs in a new interpreter, started by name: nothing of the calling
    program runs a second time. It sees one GPU; several GPUs are shared out. All processes end with this one, for any
    reason. If one fails, the others are stopped; a LimbeckError is raised again here, with its class and its facts. One
    that runs out of memory next to others is started again when fewer are running: the function must be able to
    continue.
    """
    pool = _Pool(function, jobs, at_once=at_once, listener=listener)
    try:
        pool.run_all()
    finally:
        pool.end()


class _Pool:
    """The waiting jobs, and the running processes."""

    def __init__(self, function: str, jobs: Mapping[str, Any], *, at_once: int, listener: Listener) -> None:
        self._function, self._jobs, self._at_once, self._listener = function, jobs, at_once, listener
        self._waiting = deque(jobs)
        self._members: dict[str, _Member] = {}
        self._seconds = dict.fromkeys(jobs, 0.0)
        self._gpus = _gpus()
        self._threads = _threads(min(at_once, len(jobs) or 1))

    def run_all(self) -> None:
        while self._waiting or self._members:
            while self._waiting and len(self._members) < self._at_once:
                self._start(self._waiting.popleft())
            time.sleep(SECONDS_BETWEEN_POLLS)
            for name in list(self._members):
                self._poll(name)

    def end(self) -> None:
        for member in self._members.values():
            member.end()

    def _start(self, name: str) -> None:
        in_use = [member.gpu for member in self._members.values()]
        gpu = min(self._gpus, key=in_use.count, default=None)
        self._members[name] = _Member(self._function, self._jobs[name], gpu=gpu, threads=self._threads)
        if len(self._members) > 1:
            for member in self._members.values():
                member.had_others = True

    def _poll(self, name: str) -> None:
        member = self._members[name]
        status = member.status()
        for message in member.messages():  # after its status: a process that has ended sends nothing more
            self._listener.received(name, message)
        if status is None:
            return
        member.end()
        del self._members[name]
        self._seconds[name] += time.monotonic() - member.started
        if status == 0:
            self._listener.finished(name, seconds=self._seconds[name])
        elif member.had_others and member.ran_out_of_memory(status):
            self._at_once = max(1, len(self._members))
            self._waiting.appendleft(name)
            self._listener.postponed(name)
        else:
            raise member.failure(status, name=name)


class _Member:
    """A running process, seen from outside."""

    def __init__(self, function: str, job: Any, *, gpu: str | None, threads: int) -> None:
        self.gpu, self.had_others, self.started = gpu, False, time.monotonic()
        self._failed: dict[str, Any] | None = None
        self._unread = b""
        self._read_end, write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        try:
            self._process = _started(write_end, environment={} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu})
        finally:
            os.close(write_end)
        request = {"function": function, "job": job, "threads": threads}
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has already ended; its status says why
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()  # not closed: closing it ends the process

    def status(self) -> int | None:
        return self._process.poll()

    def messages(self) -> list[Any]:
        with suppress(BlockingIOError):  # nothing more to read for now
            while piece := os.read(self._read_end, PIPE_BYTES):
                self._unread += piece
        *lines, self._unread = self._unread.split(b"\n")
        found = [json.loads(line) for line in lines]
        self._failed = next((message["failed"] for message in found if "failed" in message), self._failed)
        return [message["message"] for message in found if "message" in message]

    def ran_out_of_memory(self, status: int) -> bool:
        """As the process reported; or it was killed, which Linux does when memory runs out."""
        return self._failed["out_of_memory"] if self._failed else status == -signal.SIGKILL

    def failure(self, status: int, *, name: str) -> Exception:
        failed = self._failed
        if failed is None:
            ended = RuntimeError(f"the process of {name} ended with status {status}; its output is above")
            return TrainingLost(what=name) if status == -signal.SIGKILL else ended
        if failed["error"]:
            return unpacked_error(failed["error"])
        if failed["module"]:  # the command line knows which extra installs it
            return ModuleNotFoundError(failed["message"], name=failed["module"])
        return RuntimeError(f"the process of {name} failed\n\n{failed['traceback']}")

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        os.close(self._read_end)


def _started(write_end: int, *, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    places = os.pathsep.join(
        place or str(Path.cwd()) for place in sys.path if isinstance(place, str)
    )  # modules are found in the same folders as here; entries that are not texts are ignored, as by Python
    inherited = {name: value for name, value in os.environ.items() if name not in GROUP_VARIABLES}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for this process, not for that one
    try:
        return subprocess.Popen(
            [sys.executable, *MEMBER, str(write_end)],
            env={**inherited, "PYTHONPATH": places, **environment},
            stdin=subprocess.PIPE,
            pass_fds=[write_end],
            encoding="utf-8",
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _gpus() -> list[str]:
    """The values of CUDA_VISIBLE_DEVICES for one GPU each; empty if there are fewer than two GPUs."""
    count = torch.cuda.device_count()
    if count < 2:
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [name.strip() for name in named.split(",")][:count] if named else [str(number) for number in range(count)]


def _threads(at_once: int) -> int:
    """Threads of each process. On CPUs the same number as here, so that sums are added in the same order as in a single
    training. With a GPU, the cores are shared out."""
    threads = torch.get_num_threads()
    return max(1, threads // at_once) if torch.cuda.is_available() else threads


def _member() -> None:
    """The process itself: call the function, pass on its messages and, if it fails, the error."""
    end_with_parent()
    if _has_lost_parent():
        os._exit(1)
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    torch.set_num_threads(request["threads"])
    module, _, name = request["function"].partition(":")
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8", buffering=1) as pipe:
        try:
            function = getattr(importlib.import_module(module), name)
            function(request["job"], lambda message: print(json.dumps({"message": message}), file=pipe))
        except BaseException as error:  # also sys.exit() in a function of the user: the job is not finished then
            print(json.dumps({"failed": _described(error)}), file=pipe)
            os._exit(2)  # immediately: without waiting for threads or exit handlers


def _described(error: BaseException) -> dict[str, Any]:
    return {
        "error": packed_error(error) if isinstance(error, LimbeckError) else None,
        "message": str(error),
        "traceback": traceback.format_exc(),
        "module": error.name if isinstance(error, ModuleNotFoundError) else None,
        "out_of_memory": isinstance(error, MemoryError | torch.OutOfMemoryError)
        or any(words in str(error) for words in OUT_OF_MEMORY),
    }


def _has_lost_parent() -> bool:
    """Whether the parent has ended during the seconds in which this process was loading PyTorch."""
    poll = select.poll()
    poll.register(0, 0)  # no events: the end of the pipe is always reported
    return bool(poll.poll(0))


def _end_with_input() -> None:
    """End this process when its parent ends, also on systems that do not do so: its input is then closed."""
    while os.read(0, PIPE_BYTES):
        pass
    os._exit(1)


if __name__ == "__main__":
    _member()
