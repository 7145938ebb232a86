"""The access log: one line of JSON a request, never a text or a key; without its file the server goes on."""

import asyncio
import json
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from limbeck.errors import PathUnusable

STDERR = 2
MOST_WAITING = 20_000  # lines that are kept while they cannot be written
SECONDS_BETWEEN_WRITES = 1.0
AT_ONCE = 4_096  # bytes that the system writes to a pipe as one: lines of several processes do not mix
LONGEST_PATH = 200
FROM_THE_APPLICATION = ("model", "rows", "answered_by")


class AccessLog:
    """Lines that a thread writes, to a file or to stderr. A file that was moved away (logrotate) is opened again."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises PathUnusable."""
        self.dropped = 0  # lines that could not be written
        self._path = path
        self._file = STDERR
        self._said = 0
        self._torn = False
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._ends = threading.Event()
        try:
            self._open()
        except OSError as error:
            advice = "Give a file in a folder where this user may write, or - for stderr."
            raise PathUnusable(path=str(path), reason=error.strerror or str(error), advice=advice) from error
        self._thread = threading.Thread(target=self._write_on, name="access log", daemon=True)
        self._thread.start()

    def add(self, entry: Mapping[str, Any]) -> None:
        """Write it soon. It takes no longer than a list takes to append."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(entry)
        else:
            self.dropped += 1

    def close(self, *, patience: float = 2.0) -> None:
        """Write what waits; a file that does not take it within so many seconds does not hold up the end."""
        self._ends.set()
        self._thread.join(patience)
        if self._file != STDERR and not self._thread.is_alive():
            os.close(self._file)
            self._file = STDERR

    def _open(self) -> None:
        if self._path is not None:
            opened = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            if self._file != STDERR:
                os.close(self._file)
            self._file = opened

    def _write_on(self) -> None:
        while not self._ends.wait(SECONDS_BETWEEN_WRITES):
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        entries = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if self.dropped > self._said:
            entries.append({"time": _now(), "dropped_lines": self.dropped - self._said})
            self._said = self.dropped
        batch = bytearray()
        lines = 0
        for line in (json.dumps(entry).encode() + b"\n" for entry in entries):
            if batch and len(batch) + len(line) > AT_ONCE:
                self._write(bytes(batch), lines=lines)
                batch, lines = bytearray(), 0
            batch += line
            lines += 1
        if batch:
            self._write(bytes(batch), lines=lines)

    def _write(self, data: bytes, *, lines: int) -> None:
        try:
            if self._was_moved():
                self._open()
            data = b"\n" + data if self._torn else data
            while data:
                data = data[os.write(self._file, data) :]
            self._torn = False
        except OSError:  # a full disk, a pipe that nobody reads: a server is there to answer
            self.dropped += lines
            self._torn = True

    def _was_moved(self) -> bool:
        if self._path is None:
            return False
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._file))
        except FileNotFoundError:
            return True


class Logged:
    """Notes every request in an access log.

    What the application knows of it, it puts into `scope["state"]["log"]`: model, rows, answered_by.
    """

    def __init__(self, app: ASGIApp, log: AccessLog) -> None:
        self._app, self._log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; when it ends, however it ends, note it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        known: dict[str, Any] = {}
        state["log"] = known
        began = time.perf_counter()
        status, taken, given = 0, 0, 0

        async def counting_receive() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            return message

        async def counting_send(message: Message) -> None:
            nonlocal status, given
            status = message.get("status", status)
            given += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, counting_receive, counting_send)
        except asyncio.CancelledError:  # the server stops
            status = status or 503
            raise
        except Exception:
            status = status or 500
            raise
        finally:  # status 0: the client left before there was an answer
            status = state.get("refused", status)
            seconds = time.perf_counter() - began
            self._log.add(line(scope, status=status, seconds=seconds, bytes_in=taken, bytes_out=given, known=known))


def line(
    scope: Mapping[str, Any],
    *,
    status: int,
    seconds: float,
    bytes_in: int,
    bytes_out: int,
    known: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """What is noted of a request; no header, no query and no body."""
    client = scope.get("client")
    return {
        "time": _now(),
        "id": scope.get("state", {}).get("request_id"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": scope["path"][:LONGEST_PATH],
        "status": status,
        "milliseconds": round(seconds * 1_000, 3),
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        **{name: known[name] for name in FROM_THE_APPLICATION if name in known},
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
