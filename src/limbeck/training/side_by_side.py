"""Several trainings at once, each in a process of its own that tells how it is getting on."""

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
from limbeck.training.processes import SECONDS_BETWEEN_LOOKS, end_with_parent, packed_error, unpacked_error

MEMBER = ("-P", "-X", "faulthandler", "-m", "limbeck.training.side_by_side")  # one that crashes says where
PIPE_BYTES = 1 << 16
LACKS_MEMORY = (
    "out of memory",
    "ALLOC_FAILED",
    "NOT_INITIALIZED",  # cuBLAS and cuDNN, when there is too little left for their own handle
    "allocate memory",
)  # what CUDA, its libraries and the system say where PyTorch has no error of its own
# By these accelerate knows its group of processes. A training here is in none, whoever started this program.
OF_A_GROUP = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    "TORCHELASTIC_USE_AGENT_STORE",
)

Tell = Callable[[Any], None]


class TrainingLost(LimbeckError):
    """The system ended the process of a training while no other one was running."""

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"the process that trained '{what}' was ended by the system, most often because memory ran out",
            advice="Free some memory, or lower distillation.batch_size; the same command goes on where it stopped.",
        )


class Listener(Protocol):
    """Who wants to know how the trainings are getting on."""

    def told(self, name: str, message: Any) -> None:
        """Something that the work of this name has told."""

    def finished(self, name: str, *, seconds: float) -> None:
        """It has ended well, after so long."""

    def put_off(self, name: str) -> None:
        """It had no memory left beside the others, and will be started again when there are fewer of them."""


def run_side_by_side(work: str, jobs: Mapping[str, Any], *, at_once: int, listener: Listener) -> None:
    """Call the function `work` ("module:name") as work(job, tell) for each job, at most so many at a time.

    Jobs, and what is told, are plain JSON. Each has an interpreter of its own, started by name: nothing of the calling
    program runs a second time. It sees one GPU, by turns another one. All of them end with this process, however that
    comes about. If one fails, the others are ended; what a user can put right is raised here as what it was. One that
    finds no memory left beside the others is started once more when there are fewer of them: it must know how to go on.
    """
    team = _Team(work, jobs, at_once=at_once, listener=listener)
    try:
        team.work_through()
    finally:
        team.end()


class _Team:
    """Those who wait, and those who are at work."""

    def __init__(self, work: str, jobs: Mapping[str, Any], *, at_once: int, listener: Listener) -> None:
        self._work, self._jobs, self._at_once, self._listener = work, jobs, at_once, listener
        self._waiting = deque(jobs)
        self._members: dict[str, _Member] = {}
        self._seconds = dict.fromkeys(jobs, 0.0)
        self._gpus = _gpus()
        self._threads = _threads(min(at_once, len(jobs) or 1))

    def work_through(self) -> None:
        while self._waiting or self._members:
            while self._waiting and len(self._members) < self._at_once:
                self._start(self._waiting.popleft())
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for name in list(self._members):
                self._look_at(name)

    def end(self) -> None:
        for member in self._members.values():
            member.end()

    def _start(self, name: str) -> None:
        taken = [member.gpu for member in self._members.values()]
        gpu = min(self._gpus, key=taken.count, default=None)
        self._members[name] = _Member(self._work, self._jobs[name], gpu=gpu, threads=self._threads)
        if len(self._members) > 1:
            for member in self._members.values():
                member.had_company = True

    def _look_at(self, name: str) -> None:
        member = self._members[name]
        status = member.status()
        for message in member.messages():  # behind its status: a member that has ended tells nothing more
            self._listener.told(name, message)
        if status is None:
            return
        member.end()
        del self._members[name]
        self._seconds[name] += time.monotonic() - member.started
        if status == 0:
            self._listener.finished(name, seconds=self._seconds[name])
        elif member.had_company and member.lacked_memory(status):
            self._at_once = max(1, len(self._members))
            self._waiting.appendleft(name)
            self._listener.put_off(name)
        else:
            raise member.failure(status, name=name)


class _Member:
    """A process at work, seen from outside."""

    def __init__(self, work: str, job: Any, *, gpu: str | None, threads: int) -> None:
        self.gpu, self.had_company, self.started = gpu, False, time.monotonic()
        self._failed: dict[str, Any] | None = None
        self._unread = b""
        self._ear, voice = os.pipe()
        os.set_blocking(self._ear, False)
        try:
            self._process = _started(voice, environment={} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu})
        finally:
            os.close(voice)
        request = {"work": work, "job": job, "threads": threads}
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it is gone already; its status will tell
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()  # and not closed: when it is, the other side ends

    def status(self) -> int | None:
        return self._process.poll()

    def messages(self) -> list[Any]:
        with suppress(BlockingIOError):  # nothing more to read for now
            while piece := os.read(self._ear, PIPE_BYTES):
                self._unread += piece
        *lines, self._unread = self._unread.split(b"\n")
        found = [json.loads(line) for line in lines]
        self._failed = next((message["failed"] for message in found if "failed" in message), self._failed)
        return [message["told"] for message in found if "told" in message]

    def lacked_memory(self, status: int) -> bool:
        """Killed out of the blue is what Linux does to a process when memory runs out."""
        return self._failed["lacked_memory"] if self._failed else status == -signal.SIGKILL

    def failure(self, status: int, *, name: str) -> Exception:
        failed = self._failed
        if failed is None:
            said = RuntimeError(f"the process of {name} ended with status {status}; what it said stands above")
            return TrainingLost(what=name) if status == -signal.SIGKILL else said
        if failed["error"]:
            return unpacked_error(failed["error"])
        if failed["module"]:  # the command line knows which extra brings it
            return ModuleNotFoundError(failed["message"], name=failed["module"])
        return RuntimeError(f"the process of {name} failed\n\n{failed['traceback']}")

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        os.close(self._ear)


def _started(voice: int, *, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    places = os.pathsep.join(
        place or str(Path.cwd()) for place in sys.path if isinstance(place, str)
    )  # modules are looked for where this one does, which passes over all but texts
    inherited = {name: value for name, value in os.environ.items() if name not in OF_A_GROUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the one who gives out the work
    try:
        return subprocess.Popen(
            [sys.executable, *MEMBER, str(voice)],
            env={**inherited, "PYTHONPATH": places, **environment},
            stdin=subprocess.PIPE,
            pass_fds=[voice],
            encoding="utf-8",
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _gpus() -> list[str]:
    """The names by which a process is given one of several GPUs; none where there is nothing to share out."""
    count = torch.cuda.device_count()
    if count < 2:
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [name.strip() for name in named.split(",")][:count] if named else [str(number) for number in range(count)]


def _threads(at_once: int) -> int:
    """Of each process. On CPUs as many as here: sums are then added up in the same order as by one alone. Where a GPU
    does that, the cores are shared out."""
    threads = torch.get_num_threads()
    return max(1, threads // at_once) if torch.cuda.is_available() else threads


def _member() -> None:
    """The process itself: do the work, tell what it tells, and at last what went wrong."""
    end_with_parent()
    if _is_forsaken():
        os._exit(1)
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    torch.set_num_threads(request["threads"])
    module, _, name = request["work"].partition(":")
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8", buffering=1) as voice:
        try:
            work = getattr(importlib.import_module(module), name)
            work(request["job"], lambda message: print(json.dumps({"told": message}), file=voice))
        except BaseException as error:  # also sys.exit() in a function of the user's: the work is not done then
            print(json.dumps({"failed": _last_words(error)}), file=voice)
            os._exit(2)  # at once: nothing that it has begun may hold it back


def _last_words(error: BaseException) -> dict[str, Any]:
    return {
        "error": packed_error(error) if isinstance(error, LimbeckError) else None,
        "message": str(error),
        "traceback": traceback.format_exc(),
        "module": error.name if isinstance(error, ModuleNotFoundError) else None,
        "lacked_memory": isinstance(error, MemoryError | torch.OutOfMemoryError)
        or any(words in str(error) for words in LACKS_MEMORY),
    }


def _is_forsaken() -> bool:
    """Whether the other side has ended in the seconds in which this process was still loading PyTorch."""
    look = select.poll()
    look.register(0, 0)  # for nothing but the end of the pipe, which is always told
    return bool(look.poll(0))


def _end_with_input() -> None:
    """Nothing more comes in: it ends when the other side does, where the system does not see to that."""
    while os.read(0, PIPE_BYTES):
        pass
    os._exit(1)


if __name__ == "__main__":
    _member()
