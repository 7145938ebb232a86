"""All open connections of a server process: their limits, their counts, who is late, and who has to make room."""

import asyncio
import logging
import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

LOGGER = logging.getLogger("uvicorn.error")
RESERVED_FILES = 64  # for the model, logs, and connections that are just being refused
FEWEST_CONNECTIONS = 8
SECONDS_BETWEEN_WARNINGS = 5.0


@dataclass(frozen=True)
class ConnectionLimits:
    """What one connection may send and how long it may take, and how many connections there may be."""

    header_bytes: int = 32_768
    header_count: int = 100
    url_bytes: int = 8_192
    header_seconds: float = 10  # from the first byte of a request to the end of its headers
    body_bytes: int = 8_000_000
    body_seconds: float = 30  # without a byte of the body, or of the answer, getting through
    body_rate: int = 1_000  # bytes per second that a body has to reach after its first `body_seconds`
    keep_alive_seconds: float = 15  # between two requests
    most_connections: int = 1_000  # or fewer, where the process may not open so many files
    most_body_bytes: int = 256_000_000  # of unanswered requests, over all connections
    linger_seconds: float = 5  # that the rest of a refused request is read and thrown away, so that the answer is seen
    linger_bytes: int = 64_000_000
    stop_seconds: float = 1  # that a connection between two requests stays open when the server stops


@dataclass
class ConnectionCounts:
    """What happened to the connections so far; the metrics read it."""

    most: int
    open: int = 0
    body_bytes: int = 0  # that unanswered requests hold now
    accepted: int = 0
    made_room: int = 0  # connections without a complete request that were closed for new ones
    refused: dict[str, int] = field(default_factory=dict)  # by reason

    def refuse(self, reason: str) -> None:
        """Count a refusal."""
        self.refused[reason] = self.refused.get(reason, 0) + 1


class BytesMoved:
    """Whether bytes still get through in both directions."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._seen = (0, -1)  # message, bytes
        self._unsent = 0
        self._moved = self._sent = 0.0  # when

    def wait(self, seconds: float) -> None:
        """For so long the server did not read."""
        self._moved += seconds

    def is_late(self, now: float, *, message: int, since: float, received: int) -> bool:
        """No byte of the body for too long, or all of them too slowly."""
        if self._seen != (message, received):
            self._seen, self._moved = (message, received), now
        patience = self._limits.body_seconds
        return now - self._moved > patience or now - since > patience + received / self._limits.body_rate

    def is_stuck(self, now: float, *, unsent: int) -> bool:
        """The client has not taken a byte of its answer for too long."""
        if unsent != self._unsent:
            self._unsent, self._sent = unsent, now
        return unsent > 0 and now - self._sent > self._limits.body_seconds


class OpenConnection(Protocol):
    """What is to be known of one connection."""

    since: float  # when what it does now began

    def check(self, now: float, *, elapsed: float) -> None:
        """Refuse or close it if it is late."""

    def rank(self, now: float) -> int | None:
        """How readily it is closed to make room: 0 first, 1 next; None: it waits for an answer."""

    def make_room(self) -> None:
        """Close it now."""


class Connections:
    """All open connections of a server process."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.counts = ConnectionCounts(most=connections_allowed(limits.most_connections))
        self.stopping = False
        self.log: Callable[[Mapping[str, Any]], None] | None = None  # for requests that no application sees
        shortest = min(limits.header_seconds, limits.body_seconds, limits.keep_alive_seconds, limits.stop_seconds)
        self._tick = min(1.0, max(shortest / 4, 0.02))
        self._open: set[OpenConnection] = set()
        self._oldest: deque[tuple[OpenConnection, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._checked = 0.0
        self._untold: Counter[str] = Counter()
        self._warned = -SECONDS_BETWEEN_WARNINGS

    def add(self, connection: OpenConnection) -> bool:
        """Count a new connection; False if there is no room for it, and nobody to make room."""
        self.counts.accepted += 1
        has_room = self.counts.open < self.counts.most or self.make_room()
        self._open.add(connection)
        self.counts.open += 1
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._checked = loop.time()
            self._timer = loop.call_later(self._tick, self._check_all)
        return has_room

    def remove(self, connection: OpenConnection) -> None:
        """A connection was closed."""
        if connection in self._open:
            self._open.remove(connection)
            self.counts.open -= 1

    def make_room(self) -> bool:
        """Close the connection that has been without a complete request for longest; False if there is none."""
        now = asyncio.get_running_loop().time()
        if (
            not self._oldest
        ):  # for many connections at once: in order of age, and looked at once more when it is their turn
            ranked = [(rank, one.since, id(one), one) for one in self._open if (rank := one.rank(now)) is not None]
            self._oldest.extend((one, since) for _, since, _, one in sorted(ranked, key=lambda four: four[:3]))
        while self._oldest:
            connection, since = self._oldest.popleft()
            if connection in self._open and connection.since == since and connection.rank(now) is not None:
                self.remove(connection)
                self.counts.made_room += 1
                self.warn("closed to make room for new connections")
                connection.make_room()
                return True
        return False

    def warn(self, what: str) -> None:
        """Say it in the log, with how often, once in a few seconds at most."""
        self._untold[what] += 1
        now = asyncio.get_running_loop().time()
        if now - self._warned >= SECONDS_BETWEEN_WARNINGS:
            self._warned = now
            said = "; ".join(f"{count:,} {name}" for name, count in self._untold.items())
            LOGGER.warning("connections: %s (%d are open, at most %d)", said, self.counts.open, self.counts.most)
            self._untold.clear()

    def _check_all(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        elapsed, self._checked = now - self._checked, now
        for connection in list(self._open):
            connection.check(now, elapsed=elapsed)
        self._timer = loop.call_later(self._tick, self._check_all) if self._open else None


def connections_allowed(wanted: int) -> int:
    """So many connections, or as many as the limit of open files of this process leaves for them."""
    if sys.platform == "win32":
        return wanted
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(files - RESERVED_FILES, FEWEST_CONNECTIONS))
