"""The connections of one process to a server: idle ones are kept for the next question, busy ones can be cut off."""

import socket
from contextlib import suppress
from http.client import HTTPConnection
from threading import Lock

MOST_IDLE = 32  # kept connections


class ConnectionPool:
    """Thread-safe. After a fork the child has a pool of its own, and only drops this one: its lock may be held."""

    def __init__(self) -> None:
        self.is_closed = False
        self._idle: list[HTTPConnection] = []
        self._busy: dict[HTTPConnection, socket.socket] = {}  # with a second handle of its socket
        self._lock = Lock()

    def kept(self) -> HTTPConnection | None:
        """An idle connection, if there is one."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def watch(self, connection: HTTPConnection, sock: socket.socket) -> None:
        """Have `close` cut off this connection from now on. Raises ConnectionAbortedError if it is closed already.

        The handle is a second one: the socket itself is wrapped for TLS meanwhile, and used by another thread.
        """
        with self._lock:
            if self.is_closed:
                raise ConnectionAbortedError
            self._forget(connection)
            self._busy[connection] = socket.fromfd(sock.fileno(), sock.family, sock.type, sock.proto)

    def done(self, connection: HTTPConnection, *, keep: bool) -> None:
        """The question is over; the connection is kept, or closed."""
        with self._lock:
            self._forget(connection)
            if keep and not self.is_closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the idle connections and cut off the busy ones: whoever waits in them gets an OSError at once."""
        with self._lock:
            self.is_closed = True
            _close_all(self._idle)
            for handle in self._busy.values():
                with suppress(OSError):  # the server was faster
                    handle.shutdown(socket.SHUT_RDWR)

    def drop(self) -> None:
        """Close the files without a word to the server, and without the lock: nobody uses them in this process."""
        _close_all(self._idle)
        while self._busy:
            connection, handle = self._busy.popitem()
            handle.close()
            connection.close()

    def _forget(self, connection: HTTPConnection) -> None:
        handle = self._busy.pop(connection, None)
        if handle is not None:
            handle.close()


def _close_all(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()
