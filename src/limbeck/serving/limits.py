"""The limits of one request; larger bodies are refused."""

from dataclasses import dataclass

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_DIGITS = 19  # of a length


@dataclass(frozen=True)
class Limits:
    """The upper limits of one request."""

    rows: int = 1_000
    characters: int = 100_000  # of one text
    body_bytes: int = 8_000_000  # JSON is parsed between other requests: this much takes about 10 ms


STANDARD_LIMITS = Limits()


class BodyLimit:
    """Refuses a body by its content-length or, without one, as soon as too many bytes have arrived."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count the bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _content_length(scope) > self._most:
            refusal = JSONResponse({"detail": self._reason}, status_code=413, headers={"connection": "close"})
            await refusal(scope, receive, send)
        else:
            await self._app(scope, self._counting(receive), send)

    def _counting(self, receive: Receive) -> Receive:
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._most:
                raise HTTPException(413, self._reason, headers={"connection": "close"})
            return message

        return counted

    @property
    def _reason(self) -> str:
        return f"the body is larger than {self._most:,} bytes; send fewer rows in one request"


def _content_length(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < MOST_DIGITS else 0
