"""Several processes that train one model together, one per GPU."""

import base64
import ctypes
import importlib
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # public, but not marked as exported

from limbeck.errors import LimbeckError
from limbeck.progress import Reporter, SilentReporter, TerminalReporter

SECONDS_BETWEEN_POLLS = 0.2
LONGEST_WAIT = timedelta(hours=6)  # of one for another: while the first judges on dev, the others have nothing to do
HOST = "127.0.0.1"
BROKEN_DOWN = 2
MEMBER = ("-m", "limbeck.training.processes")
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}  # DDP warns where a model uses all of its weights, which most do


class MemberLost(LimbeckError):
    """A process of a group was ended from outside; the others cannot go on without it."""

    def __init__(self, *, rank: int, processes: int, status: int) -> None:
        self.rank, self.status = rank, status
        super().__init__(
            f"process {rank + 1} of {processes} that train together was ended by signal {-status} ({_name(status)})",
            found="memory that ran out is the most common reason" if status == -signal.SIGKILL else "",
            advice="The same command continues from the last checkpoint, also with another number of processes.",
        )


class TooFewGpus(LimbeckError):
    """More processes than GPUs are to train together on a machine."""

    def __init__(self, *, processes: int, gpus: int) -> None:
        super().__init__(
            f"{processes} processes cannot train together on {gpus} GPU{'s' if gpus > 1 else ''} of a machine",
            advice="Start one for each GPU: `processes` in the recipe, or --nproc-per-node of torchrun.",
        )


class Leader(Protocol):
    """Whoever leads a group that was started from outside (limbeck.training.torchrun)."""

    @property
    def size(self) -> int: ...
    def run(self, function: str, job: Mapping[str, Any]) -> None: ...


LEADERS: list[Leader] = []  # of this process: the one that is the first of torchrun's processes, or none


def process_count(asked: int | None, *, default: int | None = None) -> int:
    """How many train together: the number in the recipe, or `default`, or one per GPU. In a group that torchrun has
    started it is all of them, unless the recipe says one."""
    if LEADERS:
        return 1 if asked == 1 else LEADERS[-1].size
    return asked or default or max(1, torch.cuda.device_count())


def run_together(function: str, job: Mapping[str, Any], *, processes: int) -> None:
    """Call a function ("module:name") with the job, plain JSON, in this many processes that form a group: new ones of
    this machine, or one beside each of those that torchrun has started.

    Each is a new interpreter, started by name: nothing of the calling program runs a second time. If one fails, the
    others are stopped; a LimbeckError is raised again here, with its class and its facts.
    """
    if LEADERS and processes == LEADERS[-1].size:
        LEADERS[-1].run(function, job)
        return
    # Kept here, and not by the first of the group: no other program can take its port in between, and it outlives
    # whoever ends first.
    store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    places = [GroupRank(rank, processes, rank, processes, HOST, store.port) for rank in range(processes)]
    with ExitStack() as stack:
        members = [stack.enter_context(started(function, job, place)) for place in places]
        while None in (outcomes := [member.outcome for member in members]):
            refuse_failed(outcomes)
            time.sleep(SECONDS_BETWEEN_POLLS)
        refuse_failed(outcomes)


@dataclass(frozen=True)
class GroupRank:
    """A process's place in its group, and where the group's store is."""

    rank: int
    processes: int
    local_rank: int
    local_processes: int
    host: str
    port: int

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that accelerate reads, the same as torchrun's."""
        return {
            "RANK": str(self.rank),
            "LOCAL_RANK": str(self.local_rank),
            "WORLD_SIZE": str(self.processes),
            "LOCAL_WORLD_SIZE": str(self.local_processes),
            "MASTER_ADDR": self.host,
            "MASTER_PORT": str(self.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",  # whoever started the group keeps the store, as with torchrun
        }


@dataclass
class MemberProcess:
    """A running process of a group, seen from outside."""

    place: GroupRank
    process: "subprocess.Popen[str]"
    message: Path

    @property
    def outcome(self) -> "Outcome | None":
        """How it has ended; None if it has not."""
        status = self.process.poll()
        if status is None:
            return None
        text = self.message.read_text(encoding="utf-8") if self.message.is_file() else "null"
        return Outcome(self.place.rank, self.place.processes, status, json.loads(text))


@dataclass(frozen=True)
class Outcome:
    """How a process of a group has ended."""

    rank: int
    processes: int
    status: int
    error: Mapping[str, str] | None = None  # a LimbeckError, packed

    @property
    def failure(self) -> Exception:
        """What to raise for it."""
        if self.error:
            return unpacked_error(self.error)
        if self.status < 0:
            return MemberLost(rank=self.rank, processes=self.processes, status=self.status)
        return RuntimeError(f"a process of the group ended with status {self.status}; its output is above")

    @property
    def is_a_consequence(self) -> int:
        """0 if it says what went wrong, 1 if it was ended from outside. Processes that were connected with a lost one
        break down in turn (2): with an exception, or aborted by gloo."""
        return 0 if self.error else BROKEN_DOWN if self.status in (1, -signal.SIGABRT) else 1


def refuse_failed(outcomes: Sequence[Outcome | None]) -> None:
    """Raise what went wrong first, as far as outcomes show."""
    failed = [outcome for outcome in outcomes if outcome and outcome.status]
    if failed:
        raise min(failed, key=lambda outcome: outcome.is_a_consequence).failure


def _name(status: int) -> str:
    try:
        return signal.Signals(-status).name
    except ValueError:
        return "unknown"


@contextmanager
def started(function: str, job: Mapping[str, Any], place: GroupRank) -> Iterator[MemberProcess]:
    """A process of a group; it is ended with the block."""
    with tempfile.TemporaryDirectory() as folder:
        message = Path(folder) / "error.json"
        request = json.dumps({"function": function, "job": job, "error": str(message)})
        entries = [*(entry or str(Path.cwd()) for entry in sys.path if isinstance(entry, str))]
        places = os.pathsep.join([*entries, *filter(None, [os.environ.get("PYTHONPATH")])])
        process = subprocess.Popen(
            [sys.executable, *MEMBER],
            env={**QUIET, **os.environ, "PYTHONPATH": places, **place.variables},  # finds the modules of this one
            stdin=subprocess.PIPE,
            encoding="utf-8",
        )
        assert process.stdin is not None
        try:
            process.stdin.write(request)
            process.stdin.close()
            yield MemberProcess(place, process, message)
        finally:
            process.kill()
            process.wait()


def reporter_of_member(*, prints: bool) -> Reporter:
    """For use inside the group: the first process prints to the terminal if the run does; the others are silent."""
    return TerminalReporter() if prints and os.environ.get("RANK", "0") == "0" else SilentReporter()


def packed_error(error: LimbeckError) -> dict[str, str]:
    """An error as plain JSON, for another process of this run; `unpacked_error` rebuilds it."""
    try:
        pickled = base64.b64encode(pickle.dumps(error)).decode()
    except Exception:  # a class or a fact of the user that pickle refuses, with any kind of exception
        pickled = ""
    return {"pickle": pickled, "what": error.what, "found": error.found, "advice": error.advice}


def unpacked_error(packed: Mapping[str, str]) -> LimbeckError:
    """The error with its class, its message and its facts; only its message if its class cannot be imported here."""
    try:
        error = pickle.loads(base64.b64decode(packed["pickle"]))
    except Exception:  # whatever importing the module of its class raises
        error = None
    if isinstance(error, LimbeckError):
        return error
    return LimbeckError(packed["what"], found=packed["found"], advice=packed["advice"])


def _member() -> None:
    """One process of the group: call the function, and write a LimbeckError to a file."""
    end_with_parent()
    request = json.load(sys.stdin)
    module, _, name = request["function"].partition(":")
    try:
        _join()
        getattr(importlib.import_module(module), name)(request["job"])
    except LimbeckError as error:
        own = Path(f"{request['error']}.{os.environ['RANK']}")
        own.write_text(json.dumps(packed_error(error)), encoding="utf-8")
        own.replace(request["error"])  # atomic: the first process to end has the others killed
        sys.stderr.flush()
        os._exit(2)  # immediately: the group would wait for the others, which wait for this one
    _leave()


def _join() -> None:
    """Connect with the others, each on a GPU of its own if there are GPUs. They may wait long for one another: while
    the first judges on dev, they have nothing to do."""
    backend = "gloo"
    if gpus := torch.cuda.device_count():
        if (here := int(os.environ["LOCAL_WORLD_SIZE"])) > gpus:
            raise TooFewGpus(processes=here, gpus=gpus)
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "nccl"
    torch.distributed.init_process_group(backend, timeout=LONGEST_WAIT)


def _leave() -> None:
    """End this process of the group when all of them have done their work.

    Gloo, which connects them on CPUs, aborts a process (SIGABRT) in which one of its threads finds the other side gone.
    So nobody closes a connection before everybody has said that nothing more will come; and the interpreter is not torn
    down around the threads that are left.
    """
    group, rank = int(os.environ["WORLD_SIZE"]), os.environ["RANK"]
    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    store.set(f"done/{rank}", "")
    store.wait([f"done/{other}" for other in range(group)], LONGEST_WAIT)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def end_with_parent() -> None:
    """Make Linux kill this process when its parent ends for any reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    _member()
