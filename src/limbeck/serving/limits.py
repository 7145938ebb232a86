"""How much one request may ask for, and the refusal of a body that is larger."""

from dataclasses import dataclass

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True)
class Limits:
    """The most that one request may hold."""

    rows: int = 1_000
    characters: int = 100_000  # of one text
    body_bytes: int = 8_000_000  # JSON is parsed between other requests: this much takes some 10 ms


STANDARD_LIMITS = Limits()


class BodyLimit:
    """Refuses a body by the length it announces or, where it announces none, once that much has come."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _announced(scope) > self._most:
            refusal = JSONResponse({"detail": self._reason}, status_code=413, headers={"connection": "close"})
            await refusal(scope, receive, send)
        else:
            await self._app(scope, self._counting(receive), send)

    def _counting(self, receive: Receive) -> Receive:
        come = 0

        async def counted() -> Message:
            nonlocal come
            message = await receive()
            come += len(message.get("body", b""))
            if come > self._most:
                raise HTTPException(413, self._reason, headers={"connection": "close"})
            return message

        return counted

    @property
    def _reason(self) -> str:
        return f"the body is larger than {self._most:,} bytes; send fewer rows in one request"


def _announced(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isdecimal() else 0
