"""Questions to an HTTP server, by the standard library: kept connections, a deadline, bounded answers, no redirects."""

import io
import json
import socket
import ssl
import time
import weakref
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from threading import Lock
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from limbeck import __version__
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackUnusable

MOST_BYTES = 16 << 20  # of an answer
MOST_IDLE = 32  # kept connections
PIECE = 1 << 16
PORTS = {"http": 80, "https": 443}
STALE = (RemoteDisconnected, ConnectionResetError, BrokenPipeError, ConnectionAbortedError)


class RefusedByServer(FallbackFailed):
    """The server answered with a status other than 200."""

    def __init__(self, *, name: str, status: int) -> None:
        self.status = status
        reason = f"it answered with the status {status}"
        super().__init__(name=name, reason=f"{reason}, a redirect" if 300 <= status < 400 else reason)


@dataclass(eq=False)
class Server:
    """An HTTP server. Thread-safe: each question has a connection of its own while it lasts.

    `timeout` is for a whole question, from the connection to the last byte of the answer. Redirects are not followed.
    The `key` is sent as a bearer token, and is in no message.
    """

    url: str
    timeout: float
    key: str | None = field(default=None, repr=False)
    most_bytes: int = MOST_BYTES
    _idle: list[HTTPConnection] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        """Raises FallbackUnusable for what is no address."""
        self._parts = checked_url(self.url)
        weakref.finalize(self, _close_all, self._idle)
        self.url = f"{self._parts.scheme}://{self._parts.netloc}{self._parts.path}".rstrip("/")

    def get(self, path: str) -> Any:
        """The JSON at this path. Raises FallbackFailed."""
        return self._json(self._asked("GET", path, None))

    def post(self, path: str, body: object) -> Any:
        """The JSON that answers this JSON. Raises FallbackFailed."""
        return self._json(self._asked("POST", path, json.dumps(body).encode()))

    def has(self, path: str) -> bool:
        """Whether this path is answered with 200, whatever the answer is. Raises FallbackFailed without any answer."""
        try:
            self._asked("GET", path, None)
        except RefusedByServer:
            return False
        return True

    def close(self) -> None:
        """Close the kept connections."""
        with self._lock:
            _close_all(self._idle)

    def _json(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise FallbackFailed(name=self.url, reason="what it answered is not JSON") from None

    def _asked(self, method: str, path: str, body: bytes | None) -> bytes:
        deadline = time.monotonic() + self.timeout
        try:
            status, content = self._exchanged(method, path, body, deadline)
        except TimeoutError:
            raise FallbackFailed(name=self.url, reason=f"not within {self.timeout:g} seconds") from None
        except (OSError, HTTPException, ValueError) as error:  # ValueError: a name that no host can have
            raise FallbackFailed(name=self.url, reason=_of_network(error)) from None
        if status != 200:
            raise RefusedByServer(name=self.url, status=status)
        return content

    def _exchanged(self, method: str, path: str, body: bytes | None, deadline: float) -> tuple[int, bytes]:
        """A kept connection may have been closed by the server meanwhile: then once more, with a new one."""
        kept = self._kept()
        if kept is not None:
            try:
                return self._on(kept, method, path, body, deadline)
            except STALE:
                kept.close()
        return self._on(self._opened(), method, path, body, deadline)

    def _on(
        self, connection: HTTPConnection, method: str, path: str, body: bytes | None, deadline: float
    ) -> tuple[int, bytes]:
        is_kept, response = False, None
        try:
            _within(connection, deadline)
            target = f"{self._parts.path.rstrip('/')}{path}" or "/"
            connection.request(method, target, body=body, headers=self._headers())
            response = connection.getresponse()
            content = self._read(response)
            is_kept = not response.will_close and response.isclosed()
            return response.status, content
        finally:
            if is_kept:
                self._keep(connection)
            else:
                connection.close()
                if response is not None:
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
        return bytes(content)

    def _kept(self) -> HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _opened(self) -> HTTPConnection:
        host, port = str(self._parts.hostname), self._parts.port or PORTS[self._parts.scheme]
        if self._parts.scheme == "https":
            return HTTPSConnection(host, port, timeout=self.timeout, context=ssl.create_default_context())
        return HTTPConnection(host, port, timeout=self.timeout)


def _close_all(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _within(connection: HTTPConnection, deadline: float) -> None:
    """Have everything that is sent and read on it end by the deadline."""
    connection.timeout = _left(deadline)  # for a new connection
    if connection.sock is not None:
        connection.sock.settimeout(_left(deadline))

    def response_class(sock: socket.socket, *args: Any, **options: Any) -> HTTPResponse:
        response: Any = HTTPResponse(sock, *args, **options)
        response.fp.close()
        response.fp = io.BufferedReader(_Timed(sock, deadline))
        return cast(HTTPResponse, response)

    cast(Any, connection).response_class = response_class


class _Timed(io.RawIOBase):
    """What a socket receives until the deadline: its own time-out begins again with every byte."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self._file = sock.makefile("rb", buffering=0)  # it keeps the socket open until it is closed itself

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._deadline))
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


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
