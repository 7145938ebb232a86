"""Who may ask: API keys, allowed host names, pages of other sites; and the headers that every answer has."""

import hashlib
import hmac
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from limbeck.errors import PathUnusable, ServingError
from limbeck.serving.connection_refusals import REQUEST_ID, request_id
from limbeck.serving.wire.refusals import refusal_body

FEWEST_CHARACTERS = 16  # of a key
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
HEALTH = frozenset({"/livez", "/readyz", "/health", "/v2/health/live", "/v2/health/ready"})
PAGE, METRICS = "/", "/metrics"
READS = frozenset({"GET", "HEAD"})
WANTED = frozenset({b"host", b"origin", b"authorization", b"x-api-key", b"access-control-request-method"})
CACHE = b"cache-control"
EVERY_ANSWER = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
OF_THE_PAGE = ((b"x-frame-options", b"DENY"),)
PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, HEAD, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, x-api-key, x-request-id"),
    (b"access-control-max-age", b"600"),
)
Headers = list[tuple[bytes, bytes]]


class KeysUnusable(ServingError):
    """The file of API keys has none, or one that is easily guessed."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot use the API keys of '{path}'",
            found=reason,
            advice=f"Write one key a line, at least {FEWEST_CHARACTERS} letters and digits: openssl rand -hex 24",
        )


class OriginUnusable(ServingError):
    """A page's origin that cannot be allowed."""

    def __init__(self, *, origin: str) -> None:
        super().__init__(
            f"cannot allow pages of '{origin}' to ask",
            advice="Give origins as browsers do: scheme, host and, if it is not the usual one, port, without a path: "
            "https://app.example.com; each one for itself, as every page of the web would have access otherwise.",
        )


@dataclass(frozen=True)
class ApiKeys:
    """The hashes of keys, and what is to be said about their file. The keys themselves are not kept."""

    hashes: tuple[bytes, ...] = field(default=(), repr=False)
    warning: str | None = None

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def accept(self, given: bytes) -> bool:
        """Whether it is one of them; it takes as long whichever it is, and if it is none."""
        asked = hashlib.sha256(given).digest()
        found = False
        for known in self.hashes:
            found |= hmac.compare_digest(known, asked)
        return found


@dataclass(frozen=True)
class AccessSettings:
    """Who may ask."""

    keys: ApiKeys = ApiKeys()  # none: everybody
    hosts: tuple[str, ...] = ("*",)  # names, with or without port; *.example.com: all names below; *: every name
    origins: tuple[str, ...] = ()  # of other sites whose pages may read answers
    open_metrics: bool = False  # without a key

    def __post_init__(self) -> None:
        for origin in self.origins:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc}" or "*" in origin:
                raise OriginUnusable(origin=origin)


def read_keys(path: Path) -> ApiKeys:
    """The keys of a file: one a line; empty lines and those that begin with # are skipped.

    Raises KeysUnusable or PathUnusable.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        others_read = os.name == "posix" and bool(path.stat().st_mode & stat.S_IROTH)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise PathUnusable(path=str(path), reason=reason or "", advice="Give a text file with API keys.") from error
    keys = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    keys = [(number, key) for number, key in keys if key and not key.startswith("#")]
    for number, key in keys:
        if len(key) < FEWEST_CHARACTERS:
            raise KeysUnusable(path=path, reason=f"line {number}: fewer than {FEWEST_CHARACTERS} characters")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise KeysUnusable(path=path, reason=f"line {number}: a space or a character that a header cannot have")
    if not keys:
        raise KeysUnusable(path=path, reason="it has no key")
    warning = f"Every user of this machine can read '{path}'; better: chmod 600" if others_read else None
    return ApiKeys(tuple(hashlib.sha256(key.encode()).digest() for _, key in keys), warning)


def default_hosts(host: str) -> tuple[str, ...]:
    """The names under which a server that listens there answers, if the user lists none.

    On loopback only its names: a page of another site could let its own name lead there (DNS rebinding), and read
    answers as if they were its own. Any port, as it may be forwarded.
    """
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    return tuple(dict.fromkeys((*LOOPBACK_NAMES, host_name(host)))) if loopback else ("*",)


def host_name(host: str) -> str:
    """An address as it is written in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class HostNames:
    """The names that a server answers to."""

    def __init__(self, names: Iterable[str]) -> None:
        """Those of this machine are always among them: no other site can lead a browser to it under these."""
        names = [*LOOPBACK_NAMES, *(name.lower() for name in names)]
        self._every = "*" in names
        self._names = {name.encode() for name in names if not name.startswith("*")}
        self._ends = tuple(name[1:].encode() for name in names if name.startswith("*."))

    def have(self, host: bytes) -> bool:
        """Whether a request with this Host header is for this server."""
        if self._every or host in self._names:
            return True
        host = host.lower()
        name = host.rpartition(b":")[0] if host.rpartition(b":")[2].isdigit() else host
        name = name.removesuffix(b".")
        return bool({host, name} & self._names) or (bool(self._ends) and name.endswith(self._ends))


class Access:
    """Refuses who may not ask, and gives every answer an id and the headers that keep browsers careful."""

    def __init__(self, app: ASGIApp, settings: AccessSettings) -> None:
        self._app = app
        self.settings = settings  # another one may be set while requests are served, e.g. with new keys
        self._hosts = HostNames(settings.hosts)
        self._origins = frozenset(origin.encode() for origin in settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it; `scope["state"]["request_id"]` is its id."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = request_id(scope["headers"])
        scope.setdefault("state", {})["request_id"] = number.decode()
        asked: dict[bytes, bytes] = {}
        hosts = 0
        for name, value in scope["headers"]:
            if name in WANTED:
                asked[name] = value
                hosts += name == b"host"
        added = [(REQUEST_ID, number), *EVERY_ANSWER, *self._for_pages(scope, asked)]

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with(message.get("headers", ()), added)
            await send(message)

        refusal = self._refusal(scope, asked, hosts=hosts)
        if refusal is not None:
            await _refuse(scope, with_headers, *refusal)
        elif b"access-control-request-method" in asked and scope["method"] == "OPTIONS" and self._origins:
            await _answer(with_headers, 204, list(PREFLIGHT), b"")
        else:
            await self._app(scope, receive, with_headers)

    def _for_pages(self, scope: Scope, asked: dict[bytes, bytes]) -> Headers:
        added: Headers = [*OF_THE_PAGE] if scope["path"] == PAGE else []
        if self._origins:
            added.append((b"vary", b"origin"))
            if asked.get(b"origin") in self._origins:
                added.append((b"access-control-allow-origin", asked[b"origin"]))
                added.append((b"access-control-expose-headers", b"x-request-id, x-answered-by, retry-after"))
        return added

    def _refusal(self, scope: Scope, asked: dict[bytes, bytes], *, hosts: int) -> tuple[int, str, Headers] | None:
        path, method = scope["path"], scope["method"]
        if hosts > 1 or (hosts == 0 and scope.get("http_version") == "1.1"):
            return 400, "a request has one header Host", []
        if path in HEALTH:
            return None
        if not self._hosts.have(asked.get(b"host", b"")):
            return 421, "the server does not answer to this host name; its names are set where it is started", []
        if method == "OPTIONS" and b"access-control-request-method" in asked:  # a browser sends no key with it
            known = asked.get(b"origin") in self._origins
            return None if known else (403, "pages of this origin may not ask", [])
        if self._is_open(path, method) or _has_key(self.settings.keys, asked):
            return None
        return (
            401,
            "the request has no valid API key: send authorization: Bearer KEY",
            [(b"www-authenticate", b"Bearer")],
        )

    def _is_open(self, path: str, method: str) -> bool:
        settings = self.settings
        if not settings.keys or (path == METRICS and settings.open_metrics):
            return True
        return path == PAGE and method in READS


def _has_key(keys: ApiKeys, asked: dict[bytes, bytes]) -> bool:
    scheme, _, bearer = asked.get(b"authorization", b"").partition(b" ")
    given = [bearer.strip()] if scheme.lower() == b"bearer" else []
    given += [asked[b"x-api-key"].strip()] if b"x-api-key" in asked else []
    return any(keys.accept(key) for key in given)


def _with(headers: Iterable[tuple[bytes, bytes]], added: Headers) -> Headers:
    own = list(headers)
    if not any(name == CACHE for name, _ in own):
        own.append((CACHE, b"no-store"))
    return own + added


async def _refuse(scope: Scope, send: Send, status: int, detail: str, headers: Headers) -> None:
    body = refusal_body(scope["path"], status, detail)
    await _answer(send, status, [*headers, (b"content-type", b"application/json")], body)


async def _answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    if status != 204:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
