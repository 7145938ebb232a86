"""The work of models: off the event loop, in short turns, shared fairly, and refused when there is too much.

A request is a job. Its rows are computed in slices of a few milliseconds, and jobs take turns, so that one text never
waits for the whole of somebody else's thousand. How long a row takes is measured all the time; by that the queue knows
how long a new job would wait, and refuses it at once if that is too long.
"""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from limbeck.runtime.row import Row, characters
from limbeck.serving.wire.refusals import Refused

SLICE_SECONDS = 0.005  # of one turn
INLINE_SECONDS = 0.0004  # a job as short as this is done at once: handing it to a thread takes as long
ROW_UNITS = 40  # what a row costs besides its characters, in characters
FIRST_RATE = 2e-6  # seconds for a character, before anything was measured: a Bi-LSTM reads ten times faster
NEWEST = 0.1  # the share of the newest measurement in the rate
MEASURED = 20  # slices, until the rate is believed
PATIENCE_SECONDS = 0.05  # after this, it is watched whether the client is still there


@dataclass(frozen=True)
class QueueLimits:
    """When a request is refused instead of waiting."""

    waiting_seconds: float = 2.0  # that a request would wait for others, by what is known of the model's speed
    jobs: int = 1_000  # requests that wait
    lag_seconds: float = 0.5  # by which the event loop is behind


class ClientLeft(Exception):
    """Nobody waits for the answer any more."""


@dataclass(eq=False)
class Job:
    """The rows of one request, and what has been computed of them."""

    model: str
    rows: Sequence[Row]
    compute: Callable[[list[Row]], Sequence[Any]]  # one result for each row; an array, or a list
    merges: bool  # rows of several jobs may be computed in one call, because no row's result depends on the others
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[list[Sequence[Any]]]"
    factor: float = 1.0  # how much longer a row takes than the model alone does
    taken: int = 0  # rows that are computed, or just being computed
    parts: list[Sequence[Any]] = field(default_factory=list)
    ended: bool = False  # nobody waits for it any more

    @property
    def is_taken(self) -> bool:
        """Whether no row waits any more."""
        return self.taken == len(self.rows)


def units(row: Row) -> int:
    """What a row costs, in characters."""
    return characters(row) + ROW_UNITS


async def first_of(awaited: "asyncio.Future[Any]", other: Awaitable[None]) -> None:
    """Wait until one of the two is done; the other one is then not waited for."""
    task = asyncio.ensure_future(other)
    try:
        await asyncio.wait({awaited, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()


def leaving(request: Request) -> Callable[[], Awaitable[None]]:
    """What waits until the client of a request has gone."""

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            await asyncio.sleep(0)

    return left


class WorkQueue:
    """Threads that compute jobs in turns. `run` is called in the event loop; `threads` jobs are computed at a time."""

    def __init__(self, *, threads: int = 1, limits: QueueLimits | None = None) -> None:
        self._limits = limits or QueueLimits()
        self._jobs: deque[Job] = deque()
        self._ready = threading.Condition()
        self._rates: dict[str, float] = {}
        self._measured: dict[str, int] = {}
        self._open = 0  # jobs that have not ended, also those that are just being computed
        self._waiting: Counter[str] = Counter()  # by model: units of all rows that nobody computes yet
        self._threads, self._stopped, self._started = threads, False, False
        self.lag = 0.0  # seconds by which the event loop is behind; measured by who runs the loop
        self.left = 0  # jobs whose clients had gone

    @property
    def waiting_jobs(self) -> int:
        """Jobs that have not been computed completely."""
        return self._open

    @property
    def waiting_seconds(self) -> float:
        """How long all that waits will take."""
        return sum(waiting * self.rate(model) for model, waiting in list(self._waiting.items())) / self._threads

    @property
    def is_overloaded(self) -> bool:
        """Whether a new request would be refused, however short."""
        return (
            self.lag > self._limits.lag_seconds
            or self._open >= self._limits.jobs
            or min(self.waiting_seconds, self._open * SLICE_SECONDS) > self._limits.waiting_seconds
        )

    def rate(self, model: str) -> float:
        """Seconds that this model takes for a character."""
        return self._rates.get(model, FIRST_RATE)

    async def run(
        self,
        model: str,
        rows: Sequence[Row],
        compute: Callable[[list[Row]], Sequence[Any]],
        *,
        merges: bool = False,
        factor: float = 1.0,
        has_left: Callable[[], Awaitable[None]] | None = None,
    ) -> list[Sequence[Any]]:
        """What `compute` returns for the rows, in one or several parts, in order.

        `has_left` waits until the client has gone; its work is then dropped, and ClientLeft raised. Raises Refused
        (429) if the work would wait for too long.
        """
        cost = sum(map(units, rows)) * self.rate(model) * factor
        if not self._open and cost <= INLINE_SECONDS and self._measured.get(model, 0) >= MEASURED:
            return [self._computed(model, list(rows), compute, factor=factor)]
        self._refuse_too_much(cost)
        loop = asyncio.get_running_loop()
        job = Job(model, rows, compute, merges, loop, loop.create_future(), factor)
        self._enter(job)
        try:
            return await self._awaited(job, has_left)
        except (ClientLeft, asyncio.CancelledError):
            self.left += 1
            raise
        finally:
            self._end(job)

    def stop(self) -> None:
        """End the threads once nothing waits."""
        with self._ready:
            self._stopped = True
            self._ready.notify_all()

    def refuse_any(self) -> None:
        """Raise Refused (429) if a request would be refused however short it is. An idle model is never too late."""
        if self._open:
            self._refuse_too_much(0.0)

    def _refuse_too_much(self, cost: float) -> None:
        turns = max(1.0, cost / SLICE_SECONDS)
        waiting = min(self.waiting_seconds, self._open * turns * SLICE_SECONDS)
        limits = self._limits
        if waiting > limits.waiting_seconds or self._open >= limits.jobs or self.lag > limits.lag_seconds:
            after = max(1, round(max(waiting, self.lag)))
            raise Refused(
                429,
                f"the server has more to do than it can: about {max(waiting, self.lag):.0f} s of work wait; "
                f"ask again in {after} s",
                headers={"retry-after": str(after)},
            )

    def _enter(self, job: Job) -> None:
        with self._ready:
            if not self._started:
                self._started = True
                for number in range(self._threads):
                    threading.Thread(target=self._work, name=f"model-{number}", daemon=True).start()
            self._jobs.append(job)
            self._open += 1
            self._waiting[job.model] += _units_left(job)
            self._ready.notify()

    async def _awaited(self, job: Job, has_left: Callable[[], Awaitable[None]] | None) -> list[Sequence[Any]]:
        if has_left is None:
            return await job.future
        done, _ = await asyncio.wait({job.future}, timeout=PATIENCE_SECONDS)
        if not done:
            await self._until_done_or_left(job, has_left)
        return job.future.result()

    async def _until_done_or_left(self, job: Job, has_left: Callable[[], Awaitable[None]]) -> None:
        await first_of(job.future, has_left())
        if not job.future.done():
            raise ClientLeft

    def _end(self, job: Job) -> None:
        """Drop what is left of a job that nobody waits for any more."""
        with self._ready:
            job.ended = True
            self._open -= 1
            self._waiting[job.model] -= _units_left(job)
            if job in self._jobs:  # else it is done, or a thread is at it, which drops it after this turn
                self._jobs.remove(job)

    def _work(self) -> None:
        last: float | None = None  # the end of the turn before, if this one follows at once
        while True:
            with self._ready:
                while not self._jobs and not self._stopped:
                    self._ready.wait()
                    last = None
                if not self._jobs:
                    return
                turn = self._next_turn()
            self._take(turn, since=last)
            last = time.perf_counter()

    def _next_turn(self) -> list[tuple[Job, list[Row]]]:
        """The next slice of the job whose turn it is and, if it ends that, short jobs behind it of the same model."""
        job = self._jobs.popleft()
        budget = SLICE_SECONDS / self.rate(job.model) / job.factor
        rows, budget = self._slice(job, budget)
        turn = [(job, rows)]
        while self._jobs and job.merges and budget > 0 and turn[-1][0].is_taken:
            if self._jobs[0].compute != job.compute:
                break
            other = self._jobs.popleft()
            rows, budget = self._slice(other, budget)
            turn.append((other, rows))
        return turn

    def _slice(self, job: Job, budget: float) -> tuple[list[Row], float]:
        """The next rows of a job that fit into the budget, at least one, and what is left of the budget."""
        rows: list[Row] = []
        while not job.is_taken and (budget > 0 or not rows):
            row = job.rows[job.taken]
            rows.append(row)
            budget -= units(row)
            self._waiting[job.model] -= round(units(row) * job.factor)
            job.taken += 1
        return rows, budget

    def _take(self, turn: list[tuple[Job, list[Row]]], *, since: float | None) -> None:
        job, _ = turn[0]
        rows = [row for _, of_job in turn for row in of_job]
        try:
            found = self._computed(job.model, rows, job.compute, factor=job.factor, since=since)
        except BaseException as error:  # whatever it is, the request must not wait for ever
            for of_job, _ in turn:
                _settle(of_job, error=error)
            return
        first = 0
        for of_job, its_rows in turn:
            of_job.parts.append(found[first : first + len(its_rows)])
            first += len(its_rows)
            self._go_on(of_job)

    def _go_on(self, job: Job) -> None:
        """Settle a job that is done; the others wait for their next turn."""
        if job.is_taken:
            _settle(job)
            return
        with self._ready:
            if not job.ended:
                self._jobs.append(job)
                self._ready.notify()

    def _computed(
        self,
        model: str,
        rows: list[Row],
        compute: Callable[[list[Row]], Sequence[Any]],
        *,
        factor: float = 1.0,
        since: float | None = None,
    ) -> Sequence[Any]:
        """`since`: when the thread was free for this; what it waits for a busy processor is part of a row's time."""
        started = since or time.perf_counter()
        found = compute(rows)
        took = (time.perf_counter() - started) / max(1, sum(map(units, rows))) / factor
        seen = self._measured.get(model, 0)
        share = max(NEWEST, 1 / (seen + 1))
        self._rates[model] = (1 - share) * self.rate(model) + share * took
        self._measured[model] = seen + 1
        return found


def _units_left(job: Job) -> int:
    return sum(round(units(row) * job.factor) for row in job.rows[job.taken :])


def _settle(job: Job, *, error: BaseException | None = None) -> None:
    def settle() -> None:
        if job.future.done():
            return
        if isinstance(error, StopIteration):  # a future does not take it
            job.future.set_exception(RuntimeError("the model raised StopIteration"))
        elif error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(job.parts)

    try:
        job.loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop was closed: the server has ended
        job.ended = True
