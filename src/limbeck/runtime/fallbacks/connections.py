"""Questions to an HTTP server, by the standard library: kept connections, a deadline, bounded answers, no redirects."""

import json
import os
import ssl
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead, RemoteDisconnected
from typing import Any
from urllib.parse import SplitResult, urlsplit

from limbeck import __version__
from limbeck.runtime.fallbacks.connection_pool import ConnectionPool
from limbeck.runtime.fallbacks.deadlines import limit
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackUnusable

MOST_BYTES = 16 << 20  # of an answer
PIECE = 1 << 16
CLOSED = "it is not asked any more, as this process stops"
PORTS = {"http": 80, "https": 443}
STALE = (RemoteDisconnected, ConnectionResetError, BrokenPipeError, ConnectionAbortedError)


@dataclass(frozen=True)
class _Question:
    method: str
    path: str
    body: bytes | None
    deadline: float


class RefusedByServer(FallbackFailed):
    """The server answered with a status other than 200."""

    def __init__(self, *, name: str, status: int) -> None:
        self.status = status
        reason = f"it answered with the status {status}"
        super().__init__(name=name, reason=f"{reason}, a redirect" if 300 <= status < 400 else reason)


@dataclass(eq=False)
class Server:
    """An HTTP server. Thread-safe: each question has a connection of its own while it lasts; so has each process.

    `timeout` is for a whole question, from the connection to the last byte of the answer; questions that belong
    together share a `deadline`. Redirects are not followed. The `key` is sent as a bearer token, and is in no message.
    """

    url: str
    timeout: float
    key: str | None = field(default=None, repr=False)
    most_bytes: int = MOST_BYTES
    _pools: dict[int, ConnectionPool] = field(default_factory=dict, repr=False)  # by the process

    def __post_init__(self) -> None:
        """Raises FallbackUnusable for what is no address."""
        self._parts = checked_url(self.url)
        weakref.finalize(self, _drop_all, self._pools)
        self.url = f"{self._parts.scheme}://{self._parts.netloc}{self._parts.path}".rstrip("/")

    def deadline(self) -> float:
        """When everything that begins now has to be answered, by the monotonic clock."""
        return time.monotonic() + self.timeout

    def get(self, path: str, *, deadline: float | None = None) -> Any:
        """The JSON at this path. Raises FallbackFailed."""
        return self._json(self._asked("GET", path, None, deadline))

    def post(self, path: str, body: object, *, deadline: float | None = None) -> Any:
        """The JSON that answers this JSON. Raises FallbackFailed."""
        return self._json(self._asked("POST", path, json.dumps(body).encode(), deadline))

    def has(self, path: str) -> bool:
        """Whether this path is answered with 200, whatever the answer is. Raises FallbackFailed without any answer."""
        try:
            self._asked("GET", path, None)
        except RefusedByServer:
            return False
        return True

    def close(self) -> None:
        """Close the connections of this process: whoever waits for an answer, or asks later, gets FallbackFailed."""
        self._pool().close()

    def _pool(self) -> ConnectionPool:
        """That of this process: two processes with one connection would read each other's answers."""
        process = os.getpid()
        found = self._pools.get(process)
        if found is None:
            for other in [each for each in list(self._pools) if each != process]:
                self._pools.pop(other, ConnectionPool()).drop()  # another thread may be here, too
            found = self._pools.setdefault(process, ConnectionPool())
        return found

    def _json(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise FallbackFailed(name=self.url, reason="what it answered is not JSON") from None

    def _asked(self, method: str, path: str, body: bytes | None, deadline: float | None = None) -> bytes:
        question, pool = _Question(method, path, body, deadline or self.deadline()), self._pool()
        try:
            status, content = self._exchanged(question, pool)
        except TimeoutError:
            raise FallbackFailed(name=self.url, reason=f"not within {self.timeout:g} seconds") from None
        except (OSError, HTTPException, ValueError) as error:  # ValueError: a name that no host can have
            reason = CLOSED if pool.is_closed else _of_network(error)
            raise FallbackFailed(name=self.url, reason=reason) from None
        if status != 200:
            raise RefusedByServer(name=self.url, status=status)
        return content

    def _exchanged(self, question: _Question, pool: ConnectionPool) -> tuple[int, bytes]:
        """A kept connection may have been closed by the server meanwhile: then once more, with a new one."""
        kept = pool.kept()
        if kept is not None:
            with suppress(*STALE):
                return self._on(kept, question, pool)
        return self._on(self._opened(), question, pool)

    def _on(self, connection: HTTPConnection, question: _Question, pool: ConnectionPool) -> tuple[int, bytes]:
        is_kept, response = False, None
        try:
            limit(connection, pool, question.deadline)
            target = f"{self._parts.path.rstrip('/')}{question.path}" or "/"
            connection.request(question.method, target, body=question.body, headers=self._headers())
            response = connection.getresponse()
            content = self._read(response)
            is_kept = not response.will_close and response.isclosed()
            return response.status, content
        finally:
            pool.done(connection, keep=is_kept)
            if not is_kept and response is not None:
                response.close()  # it keeps the socket open, too

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
        headers["user-agent"] = f"limbeck/{__version__}"
        return headers | ({"authorization": f"Bearer {self.key}"} if self.key else {})

    def _read(self, response: HTTPResponse) -> bytes:
        content = bytearray()
        while piece := response.read(PIECE):
            content += piece
            if len(content) > self.most_bytes:
                raise FallbackFailed(name=self.url, reason=f"its answer has more than {self.most_bytes:,} bytes")
        if response.length:  # of a body that was announced: what is missing
            raise IncompleteRead(b"", response.length)
        return bytes(content)

    def _opened(self) -> HTTPConnection:
        host, port = str(self._parts.hostname), self._parts.port or PORTS[self._parts.scheme]
        if self._parts.scheme == "https":
            return HTTPSConnection(host, port, timeout=self.timeout, context=ssl.create_default_context())
        return HTTPConnection(host, port, timeout=self.timeout)


def _drop_all(pools: dict[int, ConnectionPool]) -> None:
    while pools:
        pools.popitem()[1].drop()


def _of_network(error: Exception) -> str:
    """Why there was no answer, without what the server may have put into it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "its answer ended early, or is no HTTP" if isinstance(error, HTTPException) else type(error).__name__


def checked_url(url: str) -> SplitResult:
    """The parts of an address of a server. Raises FallbackUnusable, without repeating a password in it."""
    advice = "Give the folder of a model, or an address like http://127.0.0.1:8000."
    try:
        parts = urlsplit(url)
        usable = parts.scheme in PORTS and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or any(not 32 < ord(character) < 127 for character in url):
        raise FallbackUnusable(name=_shown(url), reason="it is no address of a server", advice=advice)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        reason = "an address has neither a name and password in it, nor ? or #"
        advice = "Give the key in an environment variable, and its name with --fallback-key-from."
        raise FallbackUnusable(name=_shown(url), reason=reason, advice=advice)
    return parts


def _shown(url: str) -> str:
    """Its scheme and host at most."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('/')[0].partition('?')[0]}"
