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
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # public, but not marked as exported

from limbeck.errors import LimbeckError
from limbeck.progress import Reporter, SilentReporter, TerminalReporter

SECONDS_BETWEEN_POLLS = 0.2
LONGEST_WAIT = timedelta(hours=6)  # of one for another: while the first judges on dev, the others have nothing to do
HOST = "127.0.0.1"
MEMBER = ("-m", "limbeck.training.processes")


def process_count(asked: int | None) -> int:
    """The number in the recipe. Default: one per GPU, or a single one without a GPU."""
    return asked or max(1, torch.cuda.device_count())


def run_together(function: str, job: Mapping[str, Any], *, processes: int) -> None:
    """Call a function ("module:name") with the job, plain JSON, in this many processes that form a group.

    Each is a new interpreter, started by name: nothing of the calling program runs a second time. If one fails, the
    others are stopped; a LimbeckError is raised again here, with its class and its facts.
    """
    with tempfile.TemporaryDirectory() as folder:
        message = Path(folder) / "error.json"
        request = json.dumps({"function": function, "job": job, "error": str(message)})
        # Kept here, and not by the first of the group: no other program can take its port in between, and it outlives
        # whoever ends first.
        store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
        members = [_start(rank, request, processes=processes, port=store.port) for rank in range(processes)]
        try:
            status = _wait(members)
        finally:
            for member in members:
                member.kill()
                member.wait()
        if message.is_file():
            raise unpacked_error(json.loads(message.read_text(encoding="utf-8")))
        if status:
            raise RuntimeError(f"a process of the group ended with status {status}; its output is above")


def reporter_of_member(*, prints: bool) -> Reporter:
    """For use inside the group: the first process prints to the terminal if the run does; the others are silent."""
    return TerminalReporter() if prints and os.environ.get("RANK", "0") == "0" else SilentReporter()


def _start(rank: int, request: str, *, processes: int, port: int) -> "subprocess.Popen[str]":
    """Start a process with the environment variables that accelerate reads, the same as torchrun's."""
    group = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "MASTER_ADDR": HOST,
        "MASTER_PORT": str(port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # whoever started the group keeps the store, as with torchrun
    }
    member = subprocess.Popen(
        [sys.executable, *MEMBER], env={**os.environ, **group}, stdin=subprocess.PIPE, encoding="utf-8"
    )
    assert member.stdin is not None
    member.stdin.write(request)
    member.stdin.close()
    return member


def _wait(members: "Sequence[subprocess.Popen[str]]") -> int:
    """Wait until all have ended without error, or one has failed; returns 0 or the status of that one."""
    while True:
        statuses = [member.poll() for member in members]
        failed = [status for status in statuses if status]
        if failed or None not in statuses:
            return failed[0] if failed else 0
        time.sleep(SECONDS_BETWEEN_POLLS)


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
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    module, _, name = request["function"].partition(":")
    try:
        getattr(importlib.import_module(module), name)(request["job"])
    except LimbeckError as error:
        own = Path(f"{request['error']}.{os.environ['RANK']}")
        own.write_text(json.dumps(packed_error(error)), encoding="utf-8")
        own.replace(request["error"])  # atomic: the first process to end has the others killed
        os._exit(2)  # immediately: the group would wait for the others, which wait for this one
    _leave()


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
