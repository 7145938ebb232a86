"""The clients of the serving benchmarks: a process of its own that asks a server on this machine, and counts.

    python benchmarks/serving_clients.py < PLAN.json          prints what came of it, as JSON

The plan is one line, the fields of `Plan`. Without a `rate` the loop is closed: so many clients, each of which asks
again as soon as it has its answer. With a rate it is open: requests begin on time, whatever became of those before,
and latency is counted from the moment at which a request should have begun, so that a server that hangs cannot hide
the requests it kept from being asked. Only addresses of this machine are asked.
"""

import asyncio
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.serving_connection import CLOSED, Connection, Result

SECONDS_BETWEEN_CONNECTS = 0.02  # where nobody listens
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}


@dataclass(frozen=True)
class Plan:
    """What is asked, by how many, and for how long."""

    port: int
    bodies: list[str]
    host: str = "127.0.0.1"
    path: str = "/predict"
    clients: int = 1
    rate: float | None = None  # requests a second
    seconds: float = 5.0
    patience: float = 30.0  # for answers that are still missing when the time is over
    most_connections: int = 4_000  # of an open loop
    leaving_share: float = 0.0  # of the requests whose client does not wait
    leaving_after: float = 0.05  # seconds
    keeps_trying: bool = False  # while nobody listens; otherwise that ends the run
    until_told: bool = False  # ends with the end of standard input, after `seconds` at the latest

    def __post_init__(self) -> None:
        """Refuse any address but those of this machine."""
        if not ip_address(self.host).is_loopback:
            raise SystemExit(f"'{self.host}' is not an address of this machine: nothing else is put under load")


@dataclass
class Tally:
    """What came of the requests that were sent; each of them is in `ends` once."""

    sent: int = 0
    not_sent: int = 0  # of an open loop: no connection was free, or nobody listened
    asked_again: int = 0  # of an open loop, after the connection was closed before the request was read
    refused_connections: int = 0
    unreadable: int = 0  # refusals that are not JSON with a reason, answers that are not JSON
    latest_start: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def note(self, result: Result, seconds: float) -> None:
        """Count one request that came to an end."""
        self.ends[result.end] += 1
        self.unreadable += not result.is_readable
        self.seconds.setdefault(result.end, []).append(seconds)


class Load:
    """A plan at work."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.tally, self.over = plan, Tally(), asyncio.Event()
        self._requests = [request_of(plan, body.encode()) for body in plan.bodies]
        self._dice = random.Random(0)
        self._idle: list[Connection] = []
        self._room = asyncio.Semaphore(plan.most_connections)
        self._next = 0

    async def run(self) -> float:
        """Ask until the time is over, then wait for what is missing; the seconds to the last answer."""
        started = time.perf_counter()
        ending = asyncio.get_running_loop().call_later(self.plan.seconds, self.over.set)
        work = self._open_loop() if self.plan.rate else self._closed_loop()
        await work
        ending.cancel()
        for connection in self._idle:
            connection.leave()
        return time.perf_counter() - started

    async def _closed_loop(self) -> None:
        clients = [asyncio.create_task(self._client()) for _ in range(self.plan.clients)]
        await self.over.wait()
        await self._wait_for(clients)

    async def _client(self) -> None:
        connection: Connection | None = None
        while not self.over.is_set():
            if connection is None or connection.is_closed:
                connection = await self._connected()
                if connection is None:
                    return
            await self._ask(connection, due=time.perf_counter())
        if connection is not None:
            connection.leave()

    async def _open_loop(self) -> None:
        assert self.plan.rate is not None
        running: set[asyncio.Task[None]] = set()
        first = time.perf_counter()
        number = 0
        while not self.over.is_set():
            due = first + number / self.plan.rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.create_task(self._one(due))
            running.add(task)
            task.add_done_callback(running.discard)
            number += 1
        await self._wait_for(running)

    async def _one(self, due: float) -> None:
        """A request of an open loop, on a connection that has nothing else to do; if that was closed before the request
        was read, on another one."""
        async with self._room:
            if self.over.is_set():  # all this time there was no connection for it
                self.tally.not_sent += 1
                return
            while (connection := self._unused() or await self._connected()) is not None:
                if await self._ask(connection, due=due) != CLOSED:
                    self._idle.append(connection)
                    return
                self.tally.asked_again += 1
            self.tally.not_sent += 1

    def _unused(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
        return None

    async def _connected(self) -> Connection | None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                _, connection = await loop.create_connection(Connection, self.plan.host, self.plan.port)
                return connection
            except OSError:
                self.tally.refused_connections += 1
                if not self.plan.keeps_trying or self.over.is_set():
                    return None
                await asyncio.sleep(SECONDS_BETWEEN_CONNECTS)

    async def _ask(self, connection: Connection, *, due: float) -> str:
        """What became of a request; it is not sent where the server has just closed the connection."""
        if connection.is_closed:
            return CLOSED
        self._next += 1
        self.tally.sent += 1
        self.tally.latest_start = max(self.tally.latest_start, time.perf_counter() - due)
        answer = connection.ask(self._requests[self._next % len(self._requests)])
        leaves = self.plan.leaving_share and self._dice.random() < self.plan.leaving_share
        try:
            result = await (asyncio.wait_for(answer, self.plan.leaving_after) if leaves else answer)
        except (TimeoutError, asyncio.CancelledError) as reason:
            connection.leave()
            result = Result("left" if isinstance(reason, TimeoutError) else "unanswered")
        self.tally.note(result, time.perf_counter() - due)
        return result.end

    async def _wait_for(self, tasks: Any) -> None:
        """Those that have no answer when patience is over are given up."""
        pending = list(tasks)
        if not pending:
            return
        _, late = await asyncio.wait(pending, timeout=self.plan.patience)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def request_of(plan: Plan, body: bytes) -> bytes:
    """One whole request."""
    head = (
        f"POST {plan.path} HTTP/1.1\r\nhost: {plan.host}:{plan.port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def report(plan: Plan) -> dict[str, Any]:
    """Run the plan; what came of it."""
    load = Load(plan)
    if plan.until_told:
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(sys.stdin.fileno(), 1) else load.over.set())
    before = resource.getrusage(resource.RUSAGE_SELF)
    seconds = await load.run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    tally = load.tally
    return {
        "seconds": round(seconds, 3),
        "sent": tally.sent,
        "ends": dict(sorted(tally.ends.items())),
        "unreadable": tally.unreadable,
        "not_sent": tally.not_sent,
        "asked_again": tally.asked_again,
        "refused_connections": tally.refused_connections,
        "latest_start_ms": round(1_000 * tally.latest_start, 3),
        "busy": round(busy / seconds, 3),  # of one core
        "latency_ms": {end: percentiles(found) for end, found in sorted(tally.seconds.items())},
    }


def percentiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    ordered = sorted(seconds)
    at = {name: min(len(ordered) - 1, int(share * len(ordered))) for name, share in SHARES.items()}
    return {name: round(1_000 * ordered[place], 3) for name, place in at.items()}


def read_line() -> bytes:
    """The first line of standard input; nothing behind it is kept in a buffer, so that its end can be noticed."""
    found = b""
    while not found.endswith(b"\n"):
        part = os.read(sys.stdin.fileno(), 65_536)
        if not part:
            break
        found += part
    return found


def main() -> None:
    """Read the plan, carry it out, print what came of it."""
    plan = Plan(**json.loads(read_line()))
    print(json.dumps(asyncio.run(report(plan))), flush=True)


if __name__ == "__main__":
    main()
