"""Servers of the serving benchmarks: started as a user starts them, watched from outside, and stopped."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.serving_clients import Plan

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = (sys.executable, str(ROOT / "benchmarks" / "serving_clients.py"))
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
SAMPLE = re.compile(r"^(limbeck_\w+?_total)(?:\{(.*)\})? ([\d.e+-]+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')
PATIENCE_TO_START, PATIENCE_TO_STOP = 240.0, 60.0
SECONDS_BETWEEN_LOOKS = 0.1
OUR_OWN = ("/metrics", "/livez", "/health", "/openapi.json")  # what the benchmarks themselves ask
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that serves, and its workers."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> None:
        self.command = list(command)
        own = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        self._process = subprocess.Popen(
            self.command,
            env={**os.environ, **own, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._found = threading.Event()
        self.port = 0
        threading.Thread(target=self._read, daemon=True).start()
        if not self._found.wait(PATIENCE_TO_START) or not self.port:
            self.stop()
            raise RuntimeError(f"{' '.join(self.command)} said no address:\n{''.join(self.lines[-20:])}")

    @property
    def process(self) -> int:
        """Of the first of its processes."""
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            match = ADDRESS.search(line)
            if match and not self.port:
                self.port = int(match[1])
                self._found.set()
        self._found.set()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the first process."""
        self._process.send_signal(number)

    def stop(self) -> int:
        """End it as a system does, by SIGTERM; its exit status."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(PATIENCE_TO_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def get(self, path: str, *, seconds: float = 10.0) -> tuple[int, str]:
        """Status and text of an address, by a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def wait_until(self, path: str) -> None:
        """Return as soon as an address answers with 200."""
        until = time.monotonic() + PATIENCE_TO_START
        while time.monotonic() < until:
            try:
                if self.get(path)[0] == 200:
                    return
            except (OSError, HTTPException):
                time.sleep(SECONDS_BETWEEN_LOOKS)
        raise RuntimeError(f"{' '.join(self.command)} does not answer {path}:\n{''.join(self.lines[-20:])}")

    def counts(self) -> Counter[str]:
        """Of the server's own counters, those of what is asked under load."""
        return counts_of(self.get("/metrics")[1])

    def processes(self) -> list[int]:
        """All that belong to it."""
        found, waiting = [], [self.process]
        while waiting:
            process = waiting.pop()
            found.append(process)
            waiting += children_of(process)
        return found


class Watched(NamedTuple):
    """What a server's processes needed: megabytes at most, all together, and cores on average."""

    peak_mb: float
    private_mb: float  # without counting shared pages more than once, at the end
    busy: float


@contextmanager
def serving(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server that runs as long as the block does."""
    server = Server(command, environment=environment)
    try:
        yield server
    finally:
        server.stop()


def limbeck_command(model: Path, *, workers: int = 1, threads: int | None = None, port: int = 0) -> list[str]:
    """The command that people type."""
    words = [sys.executable, "-m", "limbeck", "serve", str(model), "--port", str(port)]
    words += ["--workers", str(workers)] if workers > 1 else []
    return words + (["--threads", str(threads)] if threads else [])


def clients(plan: Plan) -> dict[str, Any]:
    """Carry out a plan in a process of its own."""
    done = subprocess.run(CLIENTS, input=line_of(plan), stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def line_of(plan: Plan) -> str:
    """A plan as the clients read it."""
    return json.dumps(asdict(plan)) + "\n"


def counts_of(metrics: str) -> Counter[str]:
    """The counters in a text of /metrics. An answer that is no error counts as 200."""
    found: Counter[str] = Counter()
    for name, labels, value in SAMPLE.findall(metrics):
        by_name, number = dict(LABEL.findall(labels)), round(float(value))
        if by_name.get("path") in OUR_OWN:
            continue
        match name:
            case "limbeck_requests_total":
                found["200"] += number
            case "limbeck_errors_total":
                found["200"] -= number
                found[by_name["status"]] += number
            case "limbeck_rows_total":
                found["rows"] += number
            case "limbeck_refused_total":
                found[f"refused: {by_name.get('reason', '?')}"] += number
    return found


class Watch:
    """Looks at a server's processes while a block runs."""

    def __init__(self, server: Server) -> None:
        self._server, self._over, self._peak = server, threading.Event(), 0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._started, self._cpu = time.perf_counter(), _cpu_seconds(server.processes())
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            self._peak = max(self._peak, sum(_resident_kb(process) for process in self._server.processes()))

    def end(self) -> Watched:
        """What was seen."""
        self._over.set()
        self._thread.join()
        processes = self._server.processes()
        busy = (_cpu_seconds(processes) - self._cpu) / (time.perf_counter() - self._started)
        private = sum(_proportional_kb(process) for process in processes)
        return Watched(round(self._peak / 1_000, 1), round(private / 1_000, 1), round(busy, 3))


class Pulse:
    """Asks a server whether it is alive, several times a second, each time by a new connection."""

    def __init__(self, server: Server, *, every: float = 0.25, limit: float = 5.0) -> None:
        self._server, self._every, self._limit = server, every, limit
        self._path = "/livez" if server.get("/livez")[0] == 200 else "/health"
        self._over, self._seconds, self._failed = threading.Event(), [0.0], 0
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._over.wait(self._every):
            started = time.perf_counter()
            try:
                status, _ = self._server.get(self._path, seconds=self._limit)
            except (OSError, HTTPException):
                status = 0
            self._failed += status != 200
            self._seconds.append(time.perf_counter() - started)

    def end(self) -> dict[str, Any]:
        """How often it was asked, how often in vain, and the longest answer."""
        self._over.set()
        self._thread.join()
        return {
            "path": self._path,
            "asked": len(self._seconds) - 1,
            "failed": self._failed,
            "longest_ms": round(1_000 * max(self._seconds), 1),
        }


def children_of(process: int) -> list[int]:
    """The processes that this one has started; those of its threads too."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += [int(child) for child in path.read_text(encoding="ascii").split()]
        except OSError:
            continue
    return found


def _resident_kb(process: int) -> int:
    return _kilobytes(process, "status", "VmRSS:")


def _proportional_kb(process: int) -> int:
    return _kilobytes(process, "smaps_rollup", "Pss:")


def _kilobytes(process: int, file: str, name: str) -> int:
    try:
        lines = Path(f"/proc/{process}/{file}").read_text(encoding="ascii").splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def _cpu_seconds(processes: Sequence[int]) -> float:
    ticks = 0
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS
