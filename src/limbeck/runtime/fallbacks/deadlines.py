"""A deadline for a question to a server: for the connection, for all that is sent, and for all that is read."""

import io
import socket
import time
from http.client import HTTPConnection, HTTPResponse
from typing import Any, cast

from limbeck.runtime.fallbacks.connection_pool import ConnectionPool


def limit(connection: HTTPConnection, pool: ConnectionPool, deadline: float) -> None:
    """Have everything on this connection end by the deadline, or when the pool is closed, with an OSError."""
    left = _left(deadline)
    if pool.is_closed:
        raise ConnectionAbortedError
    if connection.sock is not None:
        pool.watch(connection, connection.sock)
        connection.sock.settimeout(left)

    def connected(address: tuple[str, int], *_: Any) -> socket.socket:
        return _connected(address, connection, pool, deadline)

    def response_class(sock: socket.socket, *args: Any, **options: Any) -> HTTPResponse:
        response: Any = HTTPResponse(sock, *args, **options)
        response.fp.close()
        response.fp = io.BufferedReader(_Timed(sock, deadline))
        return cast(HTTPResponse, response)

    cast(Any, connection)._create_connection = connected
    cast(Any, connection).response_class = response_class


def _connected(
    address: tuple[str, int], connection: HTTPConnection, pool: ConnectionPool, deadline: float
) -> socket.socket:
    """As `socket.create_connection`, but all addresses of a name share the time, and another thread can stop it."""
    error = OSError("this name has no address")
    places = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    for number, (family, kind, protocol, _, place) in enumerate(places):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(deadline) / (len(places) - number))
            pool.watch(connection, sock)
            sock.connect(place)
            sock.settimeout(_left(deadline))
        except OSError as found:
            sock.close()
            error = found
        else:
            return sock
    raise error


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
