"""One kept connection of the serving benchmarks: asks, reads the answer, and says what became of a lost request.

When a connection ends before its answer, the question is whether the server had the request. Linux knows:

- It counts the bytes that the other side has acknowledged (`tcpi_bytes_acked`). A request of which none was
  acknowledged arrived at a socket that was closed already: nobody had it.
- Closing a socket that holds bytes which the program has not read sends a reset, and not the end of the stream. So a
  request that ends in a reset was not read, or not to its end.

Both count as `closed`: the client may ask again without fear that it was answered for nobody. All else, the end of the
stream above all, is `broken`: the server read the request and never answered it. Where Linux cannot be asked, or a
part of an answer has arrived, it is `broken` too.
"""

import asyncio
import json
import socket
import struct
from typing import NamedTuple

import httptools

CLOSED, BROKEN = "closed", "broken"
BYTES_ACKNOWLEDGED = 120  # where it is in Linux's struct tcp_info, 8 bytes
REFUSALS = (429, 503)


class Result(NamedTuple):
    """The status of an answer, or why there was none; and whether it could be read."""

    end: str
    is_readable: bool = True


class Connection(asyncio.Protocol):
    """Asks one request at a time."""

    def __init__(self) -> None:
        self.is_closed = False
        self._answer: asyncio.Future[Result] | None = None
        self._acknowledged = 0
        self._start()

    def _start(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._retry_after = self._has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def ask(self, request: bytes) -> asyncio.Future[Result]:
        """Send a request; what comes of it."""
        self._acknowledged = acknowledged(self._transport)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def leave(self) -> None:
        """Close it, whether or not something is missing."""
        self.is_closed, self._answer = True, None
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """A part of an answer, or of several."""
        self._has_begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._end(Result("not HTTP", is_readable=False))
            self.leave()

    def eof_received(self) -> None:
        """Let the transport close."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Say what became of a request that has no answer."""
        self.is_closed = True
        if self._answer is not None and not self._answer.done():
            arrived = acknowledged(self._transport) > self._acknowledged
            was_reset = isinstance(exc, ConnectionResetError)
            is_read = self._has_begun or (arrived and not was_reset)
            self._end(Result(BROKEN if is_read else CLOSED))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Of the headers, only one matters."""
        self._retry_after |= name.lower() == b"retry-after" and value.isdigit()

    def on_body(self, body: bytes) -> None:
        """Keep it, to see whether it is JSON."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        status = self._parser.get_status_code()
        if not self._parser.should_keep_alive():
            self.is_closed = True
            self._transport.close()
        self._end(Result(str(status), is_readable(status, b"".join(self._body), retry_after=self._retry_after)))
        self._start()

    def _end(self, result: Result) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result(result)


def is_readable(status: int, body: bytes, *, retry_after: bool) -> bool:
    """Whether an answer is JSON by its first and last byte; a refusal must say why, and when to come again."""
    if status == 200:
        return body[:1] in (b"{", b"[") and body[-1:] in (b"}", b"]")
    try:
        read = json.loads(body)
    except ValueError:
        return False
    says_why = isinstance(read, dict) and bool(read.get("detail"))
    return says_why and (retry_after or status not in REFUSALS)


def acknowledged(transport: asyncio.Transport) -> int:
    """How many bytes the other side's system has received, as far as this one knows."""
    try:
        known: bytes = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        return int(struct.unpack_from("=Q", known, BYTES_ACKNOWLEDGED)[0])
    except (OSError, AttributeError, struct.error):
        return -1
