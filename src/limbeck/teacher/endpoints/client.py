"""Requests to a server of chat completions: repeated when they may succeed later, slowed down when it asks for that."""

import json
import math
import os
import random
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from limbeck import __version__
from limbeck.errors import DependencyMissing, TeacherError
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.teacher.endpoints.ledger import Ledger, Spent, counted_tokens

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 16 << 20  # of an answer
LONGEST_PAUSE = 60.0  # seconds between two tries, unless the server asks for more
LONGEST_ASKED = 600.0  # seconds of a Retry-After that are waited for
WORTH_REPEATING = {408, 425, 429, *range(500, 600)}
LONGEST_REASON = 300
KEPT = "Earlier answers are in the label store. Correct that, and run the same command again."
LATER = "Earlier answers are in the label store. Run the same command again once the server answers."


class EndpointUnusable(TeacherError):
    """The server of a teacher refuses requests, or cannot be reached."""

    def __init__(self, *, url: str, reason: str, advice: str = KEPT) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"the server at '{url}' cannot be asked", found=reason, advice=advice)


class RefusedRequest(EndpointUnusable):
    """The server refused a request for what it says."""

    def __init__(self, *, url: str, status: int, reason: str) -> None:
        self.status = status
        advice = {
            401: "Name the environment variable with the key: key_from in [teacher]; and set it.",
            403: "The key in the environment variable of key_from may not use this model.",
            404: "Correct url and model in [teacher].",
        }.get(status, KEPT)
        super().__init__(url=url, reason=f"it answered with the status {status}{reason}", advice=advice)


class Stopped(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class _Failure:
    """Why a request should be repeated."""

    reason: str
    after: float | None = None  # seconds, if the server says so
    may_be_paid: bool = False


class Pace:
    """When the next request may be sent, for all threads together."""

    def __init__(self, section: EndpointTeacher, stop: threading.Event) -> None:
        self._per_request = 60 / section.requests_per_minute if section.requests_per_minute else 0.0
        self._per_token = 60 / section.tokens_per_minute if section.tokens_per_minute else 0.0
        self._lock, self._next, self._held, self.stop = threading.Lock(), 0.0, 0.0, stop

    def wait(self, tokens: int) -> None:
        """Until it is this request's turn. Raises Stopped."""
        while True:
            with self._lock:
                now = time.monotonic()
                start = max(now, self._next)
                self._next = start + max(self._per_request, tokens * self._per_token)
            self.sleep(start - now)
            if time.monotonic() >= self._held:  # else the server has asked for patience meanwhile
                return

    def hold(self, seconds: float) -> None:
        """Nobody sends anything for so long."""
        with self._lock:
            self._held = max(self._held, time.monotonic() + seconds)
            self._next = max(self._next, self._held)

    def sleep(self, seconds: float) -> None:
        """Raises Stopped if everything ends meanwhile."""
        if self.stop.wait(max(seconds, 0.0)) if seconds > 0 else self.stop.is_set():
            raise Stopped


class ChatClient:
    """Connections to one server, shared by threads. The key is sent, and is in no message."""

    def __init__(self, section: EndpointTeacher, ledger: Ledger, pace: Pace) -> None:
        self._section, self._ledger, self._pace = section, ledger, pace
        self._key = key_of(section)
        self._http = _http_client(section, self._key)
        self.repeated = 0

    def ask(self, body: dict[str, Any], *, expected: Spent) -> dict[str, Any]:
        """What the server answers. Raises EndpointUnusable, LimitReached or Stopped."""
        reason = ""
        for tried in range(self._section.retries + 1):
            self._pace.sleep(0.0)
            self._ledger.reserve(expected)
            found = self._tried(body, expected)
            if isinstance(found, dict):
                return found
            reason = f"{found.reason}, after {tried + 1} tries"
            if tried < self._section.retries:
                self._pause(found, tried)
        raise EndpointUnusable(url=self._section.url, reason=reason, advice=LATER)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _pause(self, failure: _Failure, tried: int) -> None:
        self.repeated += 1
        held = 0.0 if failure.after is None else min(failure.after, LONGEST_ASKED)
        if held:
            self._pace.hold(held)
        longest = min(LONGEST_PAUSE, self._section.retry_seconds * 2**tried)
        self._pace.sleep(held + longest * (0.5 + random.random() / 2))  # not all at once when the server is back

    def _tried(self, body: dict[str, Any], expected: Spent) -> dict[str, Any] | _Failure:
        settled: Spent | None = None
        try:
            self._pace.wait(expected.tokens)
            found = self._sent(body)
            if isinstance(found, dict):
                settled = _usage(found, expected)
            elif found.may_be_paid:
                settled = expected
            return found
        finally:
            self._ledger.settle(expected, settled)

    def _sent(self, body: dict[str, Any]) -> dict[str, Any] | _Failure:
        import httpx2

        try:
            status, headers, content = self._exchanged(body)
        except httpx2.TimeoutException:
            return _Failure(f"it did not answer within {self._section.timeout:g} seconds", may_be_paid=True)
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            return _Failure(f"no connection: {error}")
        except httpx2.HTTPError as error:
            return _Failure(f"the connection broke: {type(error).__name__}", may_be_paid=True)
        if status in WORTH_REPEATING:
            return _Failure(f"it answered with the status {status}", after=_seconds(headers.get("retry-after")))
        if status != 200:
            reason = self._without_key(_reason(content))
            raise RefusedRequest(url=self._section.url, status=status, reason=reason)
        try:
            answer = json.loads(content)
            if isinstance(answer["choices"][0], dict):
                return dict(answer)
        except (ValueError, RecursionError, KeyError, TypeError, IndexError):
            pass
        said = self._without_key(_reason(content))  # some servers tell of errors with the status 200
        return _Failure(f"its answer is not a chat completion{said}", may_be_paid=True)

    def _exchanged(self, body: dict[str, Any]) -> tuple[int, "httpx2.Headers", bytes]:
        """Status, headers and content. The time-out is for all of it: a server may send a byte now and then."""
        import httpx2

        deadline, content = time.monotonic() + self._section.timeout, bytearray()
        url, asked = f"{self._section.base_url}/chat/completions", json.dumps(body).encode()
        with self._http.stream("POST", url, content=asked, headers={"content-type": "application/json"}) as response:
            for piece in response.iter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise httpx2.RemoteProtocolError("the answer is too long")
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the answer takes too long")
            return response.status_code, response.headers, bytes(content)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def key_of(section: EndpointTeacher) -> str | None:
    """The key, from the environment. Raises EndpointUnusable if the variable is not set."""
    if section.key_from is None:
        return None
    key = os.environ.get(section.key_from, "").strip()
    if not key:
        reason = f"the environment variable {section.key_from}, which key_from names, is not set"
        raise EndpointUnusable(url=section.url, reason=reason, advice=f"Set it: export {section.key_from}=…")
    if not (key.isascii() and key.isprintable()):
        reason = f"what is in the environment variable {section.key_from} cannot be sent as a key"
        raise EndpointUnusable(url=section.url, reason=reason, advice="Set it to the key alone, in one line.")
    return key


def _http_client(section: EndpointTeacher, key: str | None) -> "httpx2.Client":
    try:
        import httpx2
    except ModuleNotFoundError:
        raise DependencyMissing(package="httpx2", purpose='[teacher] kind = "endpoint"', extra="llm") from None
    headers = {"user-agent": f"limbeck/{__version__}", **({"authorization": f"Bearer {key}"} if key else {})}
    limits = httpx2.Limits(max_connections=section.concurrency, max_keepalive_connections=section.concurrency)
    has_certificate = section.url.startswith("https")  # loading those of the system takes a while
    return httpx2.Client(
        headers=headers, timeout=section.timeout, limits=limits, follow_redirects=False, verify=has_certificate
    )


def _usage(answer: dict[str, Any], expected: Spent) -> Spent:
    """As the server counts; as expected where it does not."""
    counts = counted_tokens(answer.get("usage"))
    return expected if counts is None else Spent(1, *counts, estimated=expected.estimated)


def _reason(content: bytes) -> str:
    """What the server says of a refusal, in short."""
    try:
        said = json.loads(content)
        error = said.get("error", said.get("detail", said))
        text = error.get("message", "") if isinstance(error, dict) else error
        text = text if isinstance(text, str) else json.dumps(text)
    except (ValueError, AttributeError, RecursionError):
        text = content.decode("utf-8", "replace")
    text = " ".join(text.split())[:LONGEST_REASON]
    return f": {text}" if text else ""


def _seconds(retry_after: str | None) -> float | None:
    """The header as seconds from now; it may be a date."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
        return None if math.isnan(seconds) else max(seconds, 0.0)
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(retry_after)
        return max((when - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
