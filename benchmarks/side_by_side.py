"""Runs commands in processes of their own, several at a time."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS_BETWEEN_LOOKS = 0.2
LINES_OF_A_FAILURE = 15


def run_side_by_side(commands: Mapping[str, Sequence[str]], *, most: int, logs: Path) -> list[str]:
    """Run them, by name, at most so many at once; what each says goes to a file in `logs`. Returns who failed.

    The cores are shared out among them. If this process is ended, whether by Ctrl-C or by `kill`, they end too.
    """
    logs.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what stands under `finally` is done
    threads = str(max(1, (os.cpu_count() or 1) // most))
    waiting, failed = deque(commands.items()), []
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < most:
                name, command = waiting.popleft()
                running[name] = _start(name, command, log=log_of(name, logs), threads=threads)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                if status := running.pop(name).returncode:
                    failed.append(name)
                _tell(name, status, log_of(name, logs))
            time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return failed


def log_of(name: str, logs: Path) -> Path:
    """Where a command's words go."""
    return logs / f"{file_name(name)}.log"


def file_name(name: str) -> str:
    """The name with a hyphen for all that is neither letter nor digit."""
    return "".join(sign if sign.isalnum() else "-" for sign in name)


def _start(name: str, command: Sequence[str], *, log: Path, threads: str) -> "subprocess.Popen[bytes]":
    print(f"== {name}  begins, see {log}", file=sys.stderr, flush=True)
    with log.open("wb") as words:
        return subprocess.Popen(
            command, stdout=words, stderr=subprocess.STDOUT, env={"OMP_NUM_THREADS": threads, **os.environ}
        )


def _tell(name: str, status: int, log: Path) -> None:
    if not status:
        print(f"== {name}  done", file=sys.stderr, flush=True)
        return
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES_OF_A_FAILURE:]
    print(f"== {name}  failed with status {status}", *last, sep="\n  ", file=sys.stderr, flush=True)
