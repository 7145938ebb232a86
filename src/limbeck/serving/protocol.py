"""HTTP on one connection, within limits: uvicorn's protocol, with time-outs, readable refusals and an orderly end."""

import asyncio
import re
from typing import Any

import httptools

from limbeck.serving.answering import BETWEEN, BODY, HEADER, AnsweringProtocol
from limbeck.serving.connection_refusals import (
    BAD,
    BAD_CODING,
    FULL,
    MEMORY,
    NO_TUNNEL,
    ConnectionRefusal,
    head_without_upgrade,
    too_large_body,
    too_large_headers,
    too_long_address,
)
from limbeck.serving.connections import ConnectionLimits, Connections

SLICE = 2_048  # bytes that are parsed at once: no more small requests than they hold wait on one connection
WATCHED = frozenset({b"content-length", b"transfer-encoding", b"expect"})


def protocol_class(limits: ConnectionLimits) -> "type[LimitedProtocol]":
    """The protocol for `uvicorn.Config(http=…)`; its attribute `book` has the connections and their counts."""
    attributes = {"limits": limits, "book": Connections(limits), "__module__": __name__}
    return type("LimitedProtocol", (LimitedProtocol,), attributes)


class Refuses(Exception):
    """Ends the parsing of what a connection sent."""

    def __init__(self, refusal: ConnectionRefusal) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


class LimitedProtocol(AnsweringProtocol):
    """One connection that may send so much, in such a form."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._fed = self._pending_bytes = 0  # of this piece; of headers, or of a body's frame, that are not complete
        self._declared = 0  # bytes of the body, by its content-length
        self._chunked = self._upgrading = False

    # What asyncio tells

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Count it, or refuse it if there are too many."""
        super().connection_made(transport)
        self.since = self.loop.time()
        if not self.book.add(self):
            self.book.warn("refused, as all the others wait for answers")
            self._refuse(FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it, and the requests that nobody waits for now."""
        self.book.remove(self)
        self._release()
        for cycle, _ in self.pipeline:
            cycle.disconnected = True
        self.pipeline.clear()
        self._forget_unparsed()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came; of many requests in one piece only as many as may wait."""
        if self._discarding:
            self._discard(len(data))
        elif self._unparsed or self._has_enough():
            self._wait(memoryview(data))
        elif len(data) <= SLICE:
            self._feed(data)
        else:
            self._feed_slices(memoryview(data))

    def _feed_slices(self, data: memoryview) -> None:
        while data:
            if self._discarding:
                self._discard(len(data))
                return
            if self._has_enough():
                self._wait(data, first=True)
                return
            known = self._declared - self._received if self._reading == BODY else 0
            size = max(SLICE, known)
            self._feed(data[:size])
            data = data[size:]

    def _has_enough(self) -> bool:
        """Whether requests wait, and the last of them is complete: then nothing more is parsed."""
        return bool(self.pipeline) and self._reading != BODY

    def _wait(self, data: memoryview, *, first: bool = False) -> None:
        """Parse it later, and read nothing more until then."""
        if self._unparsed.add(data, first=first):
            self.flow.pause_reading()
            self.flow.is_held = True
        else:
            self._refuse(MEMORY)

    def _feed(self, data: bytes | memoryview) -> None:
        self._fed = len(data)
        before = (self._messages, self._reading, self._received)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._feed_without_upgrade(bytes(data[upgrade.args[0] :]))
        except httptools.HttpParserError as error:
            context = error.__context__
            self._refuse(context.refusal if isinstance(context, Refuses) else BAD)
        else:
            if self._reading != BETWEEN:
                self._count_pending(before)

    def _count_pending(self, before: tuple[int, int, int]) -> None:
        """Bytes that the parser keeps until a header, a trailer or the head of a chunk is complete."""
        if self._reading == HEADER:
            whole = before in ((self._messages, HEADER, self._received), (self._messages - 1, BETWEEN, before[2]))
            self._pending_bytes = self._pending_bytes + self._fed if whole else self._header_size()
        elif before == (self._messages, BODY, self._received):
            self._pending_bytes += self._fed
        else:
            self._pending_bytes = 0
        if self._pending_bytes > self.limits.header_bytes:
            self._refuse(too_large_headers(self.limits))

    def _feed_without_upgrade(self, rest: bytes) -> None:
        """Parse the request again as an ordinary one: no other protocol is spoken, and a server may say so this way."""
        head = head_without_upgrade(self.parser.get_method(), self.url, self.headers)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._upgrading = False
        self._feed(head + rest)

    # What the parser tells

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._reading = HEADER
        self._messages += 1
        self._declared = self._received = self._pending_bytes = 0
        self._chunked = False
        self.since = self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what comes after the body is not one, and is dropped."""
        if self._reading != HEADER:
            return
        name = name.lower()
        if name in WATCHED:
            self._watch(name, value.strip().lower())
        self.headers.append((name, value))
        if len(self.headers) > self.limits.header_count:
            raise Refuses(too_large_headers(self.limits))

    def _watch(self, name: bytes, value: bytes) -> None:
        if name == b"content-length":
            self._declared = int(value)
        elif name == b"expect":
            self.expect_100_continue = value == b"100-continue"
        elif value != b"chunked" or self._chunked:
            raise Refuses(BAD_CODING)
        else:
            self._chunked = True

    def on_headers_complete(self) -> None:
        """Refuse by what the headers say, or begin to answer."""
        upgrades = self.parser.should_upgrade()
        if not self.url.startswith(b"/"):
            self._take_host_of_address()
        if (
            upgrades
            or self._chunked
            or self._declared > self.limits.body_bytes
            or len(self.url) > self.limits.url_bytes
            or self._pending_bytes + self._fed > self.limits.header_bytes
        ):
            self._refuse_by_headers()
        if upgrades:
            self._upgrading = True
            return
        super().on_headers_complete()
        self._reading = BODY
        self._pending_bytes = 0
        if self.book.stopping:
            self._make_last(self.cycle)

    def _take_host_of_address(self) -> None:
        """`GET http://name/path`, as proxies are asked: that name counts, not the header's (RFC 9112, 3.2.2)."""
        scheme, slashes, rest = self.url.partition(b"://")
        if slashes and scheme.lower() in (b"http", b"https"):
            host = re.split(rb"[/?#]", rest, maxsplit=1)[0].rpartition(b"@")[2]
            self.headers[:] = [(name, host if name == b"host" else value) for name, value in self.headers]

    def _refuse_by_headers(self) -> None:
        limits = self.limits
        if self._declared > limits.body_bytes:
            raise Refuses(too_large_body(self.limits))
        if len(self.url) > limits.url_bytes:
            raise Refuses(too_long_address(limits))
        if self._pending_bytes + self._fed > limits.header_bytes and self._header_size() > limits.header_bytes:
            raise Refuses(too_large_headers(self.limits))
        if self._chunked and self.parser.get_http_version() == "1.0":
            raise Refuses(BAD_CODING)
        if self.parser.should_upgrade() and self.parser.get_method() == b"CONNECT":
            raise Refuses(NO_TUNNEL)

    def on_body(self, body: bytes) -> None:
        """A piece of the body; refused if it makes the request, or all requests together, too large."""
        size = len(body)
        self._received += size
        if self._received > self.limits.body_bytes:
            raise Refuses(too_large_body(self.limits))
        if self.cycle.response_complete or self.cycle.disconnected:
            return
        counts = self.book.counts
        if counts.body_bytes + size > self.limits.most_body_bytes:
            raise Refuses(MEMORY)
        counts.body_bytes += size
        self._held += size
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        if not self._upgrading:
            self._reading = BETWEEN
            super().on_message_complete()

    def _should_upgrade(self) -> bool:
        return False  # whichever packages for other protocols are installed

    def _go_on_reading(self) -> None:
        """Requests that waited unread come next."""
        while self._unparsed and not self._has_enough():
            self._feed_slices(self._unparsed.pop())
        self.flow.is_held = bool(self._unparsed)
        if not self.pipeline:
            self.flow.resume_reading()

    def _header_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
