"""Refusals that are written to a connection directly, because no application may be asked: head and body as bytes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from secrets import token_hex

from limbeck.serving.connections import ConnectionLimits
from limbeck.serving.wire.refusals import refusal_body

HOP = frozenset({b"upgrade", b"connection", b"http2-settings"})
PLAIN_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
REQUEST_ID = b"x-request-id"
Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class ConnectionRefusal:
    """Why a connection is closed: the answer that the client reads, and the name under which it is counted."""

    status: int
    reason: str
    detail: str
    retry_after: int | None = None  # seconds


BAD = ConnectionRefusal(400, "invalid", "the request is not valid HTTP/1.1")
BAD_CODING = ConnectionRefusal(400, "invalid", "the only transfer-encoding that is read is a single 'chunked'")
NO_TUNNEL = ConnectionRefusal(400, "invalid", "this server is not a proxy")
LATE_HEADERS = ConnectionRefusal(408, "slow headers", "the headers of the request did not arrive in time")
LATE_BODY = ConnectionRefusal(408, "slow body", "the body of the request did not arrive in time")
FULL = ConnectionRefusal(503, "connections", "the server has too many open connections; try again", retry_after=1)
MEMORY = ConnectionRefusal(503, "memory", "the server holds too many large requests; try again", retry_after=1)
STOPPED = ConnectionRefusal(503, "stopped", "the server stopped before it could answer; try again", retry_after=1)
FAULT = ConnectionRefusal(500, "fault", "the server could not answer this request")


def request_id(headers: Headers) -> bytes:
    """The client's own id of the request if it is short and plain, otherwise a new one."""
    for name, value in headers:
        if name == REQUEST_ID and PLAIN_ID.fullmatch(value):
            return value
    return token_hex(8).encode()


def raw_answer(refusal: ConnectionRefusal, *, path: str, method: str, number: bytes, ours: Headers) -> bytes:
    """The complete answer; `number` is the id of the request, `ours` are the headers of every answer of the server.

    It always ends the connection. The answer to a HEAD request has no body.
    """
    body = refusal_body(path, refusal.status, refusal.detail)
    fields = [
        *ours,
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (REQUEST_ID, number),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),
    ]
    if refusal.retry_after is not None:
        fields.append((b"retry-after", b"%d" % refusal.retry_after))
    phrase = HTTPStatus(refusal.status).phrase.encode()
    lines = [b"HTTP/1.1 %d %s" % (refusal.status, phrase), *(name + b": " + value for name, value in fields)]
    return b"\r\n".join([*lines, b"", b"" if method == "HEAD" else body])


def too_large_headers(limits: ConnectionLimits) -> ConnectionRefusal:
    """More headers, or more bytes of them, than are read."""
    most = f"{limits.header_count:,} headers or {limits.header_bytes:,} bytes of them"
    return ConnectionRefusal(431, "large headers", f"the request has more than {most}")


def too_large_body(limits: ConnectionLimits) -> ConnectionRefusal:
    """A body that was announced to be, or is, too large."""
    detail = f"the body is larger than {limits.body_bytes:,} bytes; send fewer rows in one request"
    return ConnectionRefusal(413, "large body", detail)


def too_long_address(limits: ConnectionLimits) -> ConnectionRefusal:
    """A path and query that are too long."""
    return ConnectionRefusal(414, "long address", f"the address is longer than {limits.url_bytes:,} bytes")


def head_without_upgrade(method: bytes, url: bytes, headers: Headers) -> bytes:
    """The head of a request again, without the wish for another protocol, which a server may ignore."""
    closes = any(name == b"connection" and b"close" in value.lower() for name, value in headers)
    kept = [(name, value) for name, value in headers if name not in HOP]
    kept += [(b"connection", b"close")] if closes else []
    lines = [b"%s %s HTTP/1.1" % (method, url), *(name + b": " + value for name, value in kept)]
    return b"\r\n".join([*lines, b"", b""])
