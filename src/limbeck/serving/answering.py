"""How a connection answers, refuses, waits and ends."""

import asyncio
import math
import sys
from collections import deque
from typing import Any, ClassVar, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from limbeck.serving.access_log import line
from limbeck.serving.connection_refusals import (
    FAULT,
    FULL,
    LATE_BODY,
    LATE_HEADERS,
    STOPPED,
    ConnectionRefusal,
    raw_answer,
    request_id,
)
from limbeck.serving.connections import LOGGER, BytesMoved, ConnectionLimits, Connections

BETWEEN, HEADER, BODY = 0, 1, 2  # what is being read: nothing of a request, its headers, its body
INTERIM = b"HTTP/1.1 100"
UNNOTED = frozenset({FULL.reason})  # whoever opens connections by the thousand shall not fill the log
NOTHING = bytes(4)
SLOW_SECONDS = 1.0  # a body that takes longer makes room for new connections


class HeldFlow(FlowControl):
    """Nothing more is read while something that was read waits: uvicorn's cycles begin to read again by themselves."""

    is_held = False

    def resume_reading(self) -> None:
        """Read again, unless it is held."""
        if not self.is_held:
            super().resume_reading()


class Unparsed:
    """What waits until the requests before it are answered, without copies; its bytes are counted with the bodies."""

    def __init__(self, book: Connections) -> None:
        self._book, self._pieces = book, deque[memoryview]()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, data: memoryview, *, first: bool = False) -> bool:
        """False if there is no room for it."""
        counts, size = self._book.counts, _size(data)
        if counts.body_bytes + size > self._book.limits.most_body_bytes:
            return False
        counts.body_bytes += size
        if first:
            self._pieces.appendleft(data)
        else:
            self._pieces.append(data)
        return True

    def pop(self) -> memoryview:
        """The first piece; it is not counted any more."""
        data = self._pieces.popleft()
        self._book.counts.body_bytes -= _size(data)
        return data

    def clear(self) -> None:
        """Forget all of it."""
        while self._pieces:
            self.pop()


def _size(data: memoryview) -> int:
    """A part keeps the whole in memory."""
    return len(cast(bytes, data.obj))


class AnsweringProtocol(HttpToolsProtocol):
    """One connection whose requests are answered by uvicorn's cycles; when to refuse and to close is decided here.

    Its own end is orderly: after the last answer it reads for a while what the client still sends, so that the answer
    is not lost in a reset of the connection.
    """

    limits: ClassVar[ConnectionLimits]
    book: ClassVar[Connections]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.since = 0.0
        self._reading = BETWEEN
        self._messages = 0
        self._received = self._held = 0  # bytes of the body: read, kept
        self._unparsed = Unparsed(self.book)
        self._progress = BytesMoved(self.limits)
        self._refusal: bytes | None = None  # to be written after the answers before it
        self._head: bytes | None = None  # of an answer, until its body follows: one packet is quicker than two
        self._head_is_next = False
        self._last: RequestResponseCycle | None = None  # after which the connection ends, as the server stops
        self._discarding = False
        self._discard_until, self._discardable = math.inf, self.limits.linger_bytes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin, with reading that can be held."""
        super().connection_made(transport)
        self.flow: HeldFlow = HeldFlow(transport)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        cycle.transport = self  # type: ignore[assignment]  # it only writes, closes and asks whether it is closing
        self._head_is_next = True
        task = self.loop.create_task(self._answer(cycle, app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    async def _answer(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        try:
            await app(cycle.scope, cycle.receive, cycle.send)
        except asyncio.CancelledError:  # the server stops, and has waited long enough
            self._fail(cycle, STOPPED)
        except Exception as error:
            if not cycle.disconnected:
                LOGGER.error("Exception in ASGI application\n", exc_info=error)
            self._fail(cycle, FAULT)
        else:
            if not cycle.response_complete and not cycle.disconnected:
                LOGGER.error("the application ended without a complete answer")
            self._fail(cycle, FAULT)
        finally:
            cycle.on_response = _nothing  # no cycle of references

    def _fail(self, cycle: RequestResponseCycle, refusal: ConnectionRefusal) -> None:
        if cycle.disconnected or cycle.response_complete:
            return
        cycle.disconnected = True
        if cycle.response_started and self._head is None:  # the client has the head of another answer
            self.transport.close()
        else:
            self._head = None
            self.book.counts.refuse(refusal.reason)
            state = cycle.scope["state"]
            number = state.get("request_id", "").encode() or request_id(list(cycle.scope["headers"]))
            path, method = cycle.scope["path"], cycle.scope["method"]
            ours = self.server_state.default_headers
            self._write_refusal(raw_answer(refusal, path=path, method=method, number=number, ours=ours))

    def write(self, data: bytes) -> None:
        """Bytes of an answer: first its head, then its body."""
        if self._head_is_next and not data.startswith(INTERIM):
            self._head, self._head_is_next = data, False
            return
        if self._head is not None:
            data, self._head = self._head + data, None
        self.transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more can be written."""
        return self.transport.is_closing()

    def on_response_complete(self) -> None:
        """The next request of this connection, or the refusal that waited for the answers before it."""
        self.server_state.total_requests += 1
        if self._head is not None:  # there is no body
            self.write(b"")
        if self.transport.is_closing() or (self._discarding and self._refusal is None):
            return
        self.since = self.loop.time()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self._refusal is not None:
            self._write_refusal(self._refusal)
        else:
            self._release()
            self._go_on_reading()

    def _go_on_reading(self) -> None:
        """All requests that were read are answered."""
        self.flow.resume_reading()

    def close(self) -> None:
        """The answer is written and says that it was the last one; what the client still sends is read for a while."""
        if self._head is not None:
            self.write(b"")
        if self._reading == BETWEEN and not self._unparsed and not self.book.stopping:
            self.transport.close()
        else:
            self._linger()

    def _release(self) -> None:
        self.book.counts.body_bytes -= self._held
        self._held = 0

    def _forget_unparsed(self) -> None:
        self._unparsed.clear()
        self.flow.is_held = False

    # Refusals

    def _refuse(self, refusal: ConnectionRefusal) -> None:
        """Answer with it, after the answers to earlier requests; nothing that comes is read any more."""
        self.book.counts.refuse(refusal.reason)
        self._forget_unparsed()
        self._discarding = True
        waits, noted = self.is_busy, refusal.reason not in UNNOTED
        if self._reading == BODY:  # then the last cycle is the one of this request
            waits = noted = bool(self.pipeline)
            if not self._abandoned(self.cycle, refusal):
                return
        answer = self._as_answer(refusal, noted=noted)
        if waits:
            self._refusal = answer
            self.flow.pause_reading()
        else:
            self._write_refusal(answer)

    def _abandoned(self, cycle: RequestResponseCycle, refusal: ConnectionRefusal) -> bool:
        """Whether the application will not answer: it sees a client that left. An answer that began is its own."""
        if cycle.response_complete:
            self._linger()
        elif cycle.response_started:
            cycle.keep_alive = False
        else:
            self._disconnect(cycle, refusal)
            if self.pipeline:
                self.pipeline.popleft()
        return cycle.disconnected

    def _disconnect(self, cycle: RequestResponseCycle, refusal: ConnectionRefusal) -> None:
        cycle.scope["state"]["refused"] = refusal.status  # for the access log
        cycle.disconnected = True
        cycle.message_event.set()

    def _write_refusal(self, answer: bytes) -> None:
        self._refusal = None
        if not self.transport.is_closing():
            self.transport.write(answer)
        self._linger()

    def _as_answer(self, refusal: ConnectionRefusal, *, noted: bool = False) -> bytes:
        """To the request that is being read; `noted`: in the access log, because no application does it."""
        begun = self._reading != BETWEEN
        path = self.url.partition(b"?")[0].decode("ascii", "replace") if begun else ""
        method = self.parser.get_method().decode("ascii") if begun else ""
        state = self.scope["state"] if begun else {}
        number = state.get("request_id", "").encode() or request_id(self.headers if begun else ())
        if noted and self.book.log is not None:
            scope = {"client": self.client, "method": method, "path": path, "state": {"request_id": number.decode()}}
            seconds = self.loop.time() - self.since
            self.book.log(line(scope, status=refusal.status, seconds=seconds, bytes_in=self._received, bytes_out=0))
        return raw_answer(refusal, path=path, method=method, number=number, ours=self.server_state.default_headers)

    def _linger(self) -> None:
        """Read and throw away for a while: closing at once would reset the connection, and the answer with it."""
        if self.transport.is_closing():
            return
        self._release()
        self.pipeline.clear()
        self._forget_unparsed()
        self._refusal, self._discarding = None, True
        seconds = self.limits.stop_seconds if self.book.stopping else self.limits.linger_seconds
        self.since = self.loop.time()
        self._discard_until = self.since + seconds
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()

    def _discard(self, size: int) -> None:
        self._discardable -= size
        if self._discardable < 0:
            self.transport.abort()

    # Time

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its answer."""
        cycle = self.cycle
        waits = cycle is not None and not cycle.response_complete and not cycle.disconnected
        return waits or self._refusal is not None

    def check(self, now: float, *, elapsed: float) -> None:
        """Refuse or close it if it is late."""
        if self._progress.is_stuck(now, unsent=self.transport.get_write_buffer_size()):
            self.transport.abort()
        elif self._discarding:
            if now > self._discard_until:
                self.transport.abort()
        elif self._reading == BODY:
            self._check_body(now, elapsed=elapsed)
        elif not self.is_busy and now - self.since > self._patience():
            if self._reading == HEADER:
                self._refuse(LATE_HEADERS)
            else:
                self.transport.close()

    def _check_body(self, now: float, *, elapsed: float) -> None:
        if self.flow.read_paused:  # the server does not read, so the client cannot be late
            self.since += elapsed
            self._progress.wait(elapsed)
        elif self._progress.is_late(now, message=self._messages, since=self.since, received=self._received):
            self._refuse(LATE_BODY)

    def _patience(self) -> float:
        if self._reading == HEADER:
            return self.limits.header_seconds
        if self.book.stopping:
            return self.limits.stop_seconds
        return self.limits.header_seconds if self.cycle is None else self.limits.keep_alive_seconds

    def rank(self, now: float) -> int | None:
        """How readily it is closed to make room: without a complete request first, then what is slow."""
        slow = now - self.since > SLOW_SECONDS
        if self._discarding and self._refusal is None:
            return 0 if slow else None
        if self._reading == BODY or self.transport.get_write_buffer_size():
            return 1 if slow and not self.flow.read_paused else None
        return None if self.is_busy or self._has_more_to_read() else 0

    def _has_more_to_read(self) -> bool:
        """Whether something came that was not read yet: perhaps a whole request."""
        if sys.platform == "win32":
            return False
        import fcntl
        import termios

        connection = self.transport.get_extra_info("socket")
        try:
            waiting = fcntl.ioctl(connection.fileno(), termios.FIONREAD, NOTHING)
        except (AttributeError, OSError, ValueError):  # it is closed already
            return False
        return waiting != NOTHING

    def make_room(self) -> None:
        """Close it at once; a request that began is answered with 503."""
        cycle, begun = self.cycle, self._reading == HEADER
        if self._reading == BODY and not cycle.response_started and not cycle.disconnected:
            begun = True
            self._disconnect(cycle, FULL)
        if begun and not self._discarding and not self.transport.get_write_buffer_size():
            self.transport.write(self._as_answer(FULL))
            self.transport.close()
        else:
            self.transport.abort()

    def shutdown(self) -> None:
        """The server stops: the requests that came, or are on their way, are the last ones."""
        if not self.is_busy:
            self.since = self.loop.time()
        else:
            self._make_last(self.cycle)

    def _make_last(self, cycle: RequestResponseCycle) -> None:
        """Say in the answer that it is the last one; if another request has come until then, that one's is."""
        before, self._last = self._last, None
        if before is not None and before is not cycle and not before.response_started:
            before.keep_alive = True
        if cycle.keep_alive and not cycle.response_started:
            cycle.keep_alive, self._last = False, cycle

    def end(self) -> None:
        """The grace period is over, and no task answers here: say so to whom sends a request, leave the others."""
        if self._reading != BETWEEN and not self._discarding and not self.is_busy:
            self._refuse(STOPPED)
        elif not self.is_busy:
            self.transport.close()


def _nothing() -> None:
    """What happens after an answer that nobody waits for."""
