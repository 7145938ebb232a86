"""A uvicorn server that accepts no more than it can hold, and stops without losing a request."""

import asyncio
import socket
import sys
from functools import partial
from ssl import SSLContext
from typing import cast

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from limbeck.serving.connections import Connections
from limbeck.serving.protocol import LimitedProtocol

AT_ONCE = 16  # connections that are accepted before others are looked at again
SECONDS_TO_RETRY = 0.02
SLOW_HANDSHAKE = 1.0  # seconds, after which it makes room before anybody else
SECONDS_TO_SAY_SO = 1.0  # for the last answers to leave, after the grace period


class BoundedListener:
    """Accepts connections from one socket while there is room for them; the others wait in the system's queue.

    asyncio accepts whatever comes, up to the limit of open files, and then logs an error for each further attempt.
    """

    def __init__(self, sock: socket.socket, config: uvicorn.Config, *, server: "GracefulServer") -> None:
        self._loop = asyncio.get_running_loop()
        self._sock, self._server, self._book = sock, server, server.book
        self._ssl: SSLContext | None = config.ssl
        self._opening: dict[asyncio.Task[object], float] = {}  # since when; a TLS handshake takes its time
        sock.setblocking(False)
        sock.listen(config.backlog)
        self._loop.add_reader(sock, self._accept)

    def _accept(self) -> bool:
        """Accept a few; False if there is nothing to accept any more."""
        for _ in range(AT_ONCE):
            if not self._has_room():
                self._pause()
                return True
            try:
                connection, _address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return False
            except OSError as error:
                self._book.warn(f"not accepted yet ({error.strerror})")
                self._book.make_room()
                self._pause()
                return True
            connection.setblocking(False)
            self._open(connection)
        return True

    def _has_room(self) -> bool:
        """For one more, or for one that is refused: nobody waits without being answered."""
        book = self._book
        if book.counts.open + len(self._opening) < book.counts.most:
            return True
        if self._drop_handshake(after=SLOW_HANDSHAKE) or book.make_room() or self._drop_handshake(after=0.0):
            return True
        return book.counts.open + len(self._opening) < book.counts.most + AT_ONCE

    def _drop_handshake(self, *, after: float) -> bool:
        if self._ssl is None or not self._opening:
            return False
        oldest, since = next(iter(self._opening.items()))
        if self._loop.time() - since < after:
            return False
        del self._opening[oldest]
        oldest.cancel()
        return True

    def _pause(self) -> None:
        self._loop.remove_reader(self._sock)
        self._loop.call_later(SECONDS_TO_RETRY, self._resume)

    def _resume(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.add_reader(self._sock, self._accept)

    def _open(self, connection: socket.socket) -> None:
        seconds = self._book.limits.header_seconds if self._ssl is not None else None
        opening = self._loop.connect_accepted_socket(
            self._server.protocol, connection, ssl=self._ssl, ssl_handshake_timeout=seconds
        )
        task: asyncio.Task[object] = self._loop.create_task(opening)
        self._opening[task] = self._loop.time()
        task.add_done_callback(partial(self._opened, connection))

    def _opened(self, connection: socket.socket, task: "asyncio.Task[object]") -> None:
        self._opening.pop(task, None)
        if task.cancelled() or task.exception() is not None:  # e.g. it does not speak TLS
            self._book.counts.refuse("handshake")
            connection.close()

    async def drain(self, *, until: float) -> None:
        """Accept who has connected already, then stop listening."""
        self._loop.remove_reader(self._sock)
        while self._accept() and self._loop.time() < until:
            self._loop.remove_reader(self._sock)
            await asyncio.sleep(0.002)
        self._loop.remove_reader(self._sock)
        self._sock.close()


class GracefulServer(uvicorn.Server):
    """A server on sockets that listen already; the class of its protocol comes from `protocol_class`."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._protocol_class = cast(type[LimitedProtocol], config.http)
        self.listeners: list[BoundedListener] = []

    @property
    def book(self) -> Connections:
        """The open connections and their counts."""
        return self._protocol_class.book

    def protocol(self) -> LimitedProtocol:
        """For a new connection."""
        return self._protocol_class(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections from now on."""
        if not sockets:
            raise ValueError("give the sockets to listen on: run(sockets=[…])")
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        self.servers = []
        self.listeners = [BoundedListener(sock, self.config, server=self) for sock in sockets]
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer all requests that came, those that come on open connections for a moment more, and then end.

        What is not answered when the grace period ends gets a 503.
        """
        del sockets  # the listeners close them
        loop = asyncio.get_running_loop()
        began, grace = loop.time(), self.config.timeout_graceful_shutdown
        self.book.stopping = True
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for listener in self.listeners:
            await listener.drain(until=began + self.book.limits.stop_seconds)
        await self._until_quiet(began + (3600.0 if grace is None else grace))
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            cast(LimitedProtocol, connection).end()
        await self._until_quiet(loop.time() + SECONDS_TO_SAY_SO)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _until_quiet(self, until: float) -> None:
        state, loop = self.server_state, asyncio.get_running_loop()
        while (state.connections or state.tasks) and not self.force_exit and loop.time() < until:
            await asyncio.sleep(0.01)
