"""A server in a process of its own, for tests."""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 60.0  # seconds, where a failing test would otherwise wait for ever
TEXT = {"texts": ["a gorgeous film"]}


@dataclass
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    printed: str
    context: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})

    def connection(self) -> http.client.HTTPConnection:
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, path: str, question: object = None, *, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
        connection = self.connection()
        method, body = ("GET", None) if question is None else ("POST", json.dumps(question))
        connection.request(method, path, body, headers={**self.headers, **(headers or {})})
        response = connection.getresponse()
        status, text = response.status, response.read().decode()
        connection.close()
        return status, text

    def numbers(self) -> dict[str, float]:
        lines = self.ask("/metrics")[1].splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {name: float(value) for name, value in pairs}

    def children(self) -> list[int]:
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [int(pid) for pid in found.split()]

    def stop(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGTERM)
        rest, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, rest, errors


@contextmanager
def running(*options: str | Path, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    command = [sys.executable, "-W", "error", "-m", "limbeck", "serve", *map(str, options), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    ) as process:
        guard = threading.Timer(5 * PATIENCE, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            printed = "".join(iter(process.stdout.readline, "Stop it with Ctrl-C.\n"))
            address = re.search(r"page +https?://127\.0\.0\.1:(\d+)/", printed)
            assert address, printed
            yield Running(process, int(address[1]), printed)
        finally:
            guard.cancel()
            for pid in [*children_of(process.pid), process.pid]:
                with_no_complaint(pid)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def with_no_complaint(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def until(check: Callable[[], bool]) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < end
        time.sleep(0.05)
