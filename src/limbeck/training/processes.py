"""Several processes that train one model together, one on each GPU."""

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

SECONDS_BETWEEN_LOOKS = 0.2
LONGEST_WAIT = timedelta(hours=6)  # of one for another: while the first judges on dev, the others have nothing to do
HOST = "127.0.0.1"
MEMBER = ("-m", "limbeck.training.processes")


def process_count(asked: int | None) -> int:
    """As many as the recipe asks for; left out: one for each GPU, and a single one where there is none."""
    return asked or max(1, torch.cuda.device_count())


def run_together(work: str, job: Mapping[str, Any], *, processes: int) -> None:
    """Call the function `work` ("module:name") with the job, plain JSON, in so many processes that know of each other.

    Each is an interpreter of its own, started by name: nothing of the calling program runs a second time. If one
    fails, the others are ended; what a user can put right is raised here as what it was.
    """
    with tempfile.TemporaryDirectory() as folder:
        message = Path(folder) / "error.json"
        request = json.dumps({"work": work, "job": job, "error": str(message)})
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
            raise RuntimeError(f"a process of the group ended with status {status}; what it said stands above")


def reporter_of_member(*, speaks: bool) -> Reporter:
    """For use inside the group: the first process speaks on the terminal if the run does; the others are silent."""
    return TerminalReporter() if speaks and os.environ.get("RANK", "0") == "0" else SilentReporter()


def _start(rank: int, request: str, *, processes: int, port: int) -> "subprocess.Popen[str]":
    """What accelerate goes by stands in the environment, as torchrun would have put it there."""
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
    """Until all have ended well, or one has not: then its status."""
    while True:
        statuses = [member.poll() for member in members]
        failed = [status for status in statuses if status]
        if failed or None not in statuses:
            return failed[0] if failed else 0
        time.sleep(SECONDS_BETWEEN_LOOKS)


def packed_error(error: LimbeckError) -> dict[str, str]:
    """An error as plain JSON, for another process of this run; `unpacked_error` rebuilds it."""
    try:
        pickled = base64.b64encode(pickle.dumps(error)).decode()
    except Exception:  # a class or a fact of the user's own that pickle refuses, each with another exception
        pickled = ""
    return {"pickle": pickled, "what": error.what, "found": error.found, "advice": error.advice}


def unpacked_error(packed: Mapping[str, str]) -> LimbeckError:
    """The error with its class, its message and its facts; with its message alone if its class is not found here."""
    try:
        error = pickle.loads(base64.b64decode(packed["pickle"]))
    except Exception:  # whatever importing the module of its class raises
        error = None
    if isinstance(error, LimbeckError):
        return error
    return LimbeckError(packed["what"], found=packed["found"], advice=packed["advice"])


def _member() -> None:
    """One process of the group: do the work, and write down what a user can put right."""
    end_with_parent()
    request = json.load(sys.stdin)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    module, _, name = request["work"].partition(":")
    try:
        getattr(importlib.import_module(module), name)(request["job"])
    except LimbeckError as error:
        own = Path(f"{request['error']}.{os.environ['RANK']}")
        own.write_text(json.dumps(packed_error(error)), encoding="utf-8")
        own.replace(request["error"])  # whole or not at all: the first one to end has the others killed
        os._exit(2)  # at once: the group would wait for the others, who wait for this one
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
    """Ask Linux to end this process when its parent ends, however that comes about."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    _member()
