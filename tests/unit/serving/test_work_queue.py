import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from limbeck.runtime.row import Row
from limbeck.serving import work_queue
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.work_queue import MEASURED, ClientLeft, QueueLimits, WorkQueue, units

LONG = "x" * 20_000  # a slice of its own
PATIENCE = 20.0


def lengths(rows: list[Row]) -> list[int]:
    """Stands in for a model."""
    return [len(row) for row in rows]


def flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for part in parts for value in part]


class Held:
    """A model that waits until it is released, and notes what it was given."""

    def __init__(self) -> None:
        self.calls: list[list[Row]] = []
        self.begun, self.released = threading.Event(), threading.Event()

    def __call__(self, rows: list[Row]) -> list[int]:
        self.calls.append(rows)
        self.begun.set()
        assert self.released.wait(PATIENCE)
        return lengths(rows)

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, PATIENCE)


def run(work: Callable[[WorkQueue], Awaitable[Any]], *, limits: QueueLimits | None = None) -> Any:
    """The work in an event loop with a queue of its own."""

    async def scene() -> Any:
        queue = WorkQueue(limits=limits)
        try:
            return await asyncio.wait_for(work(queue), PATIENCE)
        finally:
            queue.stop()

    return asyncio.run(scene())


def test_results_are_in_the_order_of_the_rows() -> None:
    rows = ["x" * number for number in range(0, 3_000, 7)]

    found = run(lambda queue: queue.run("m", rows, lengths))

    assert len(found) > 1
    assert flat(found) == lengths(list(rows))


def test_a_short_request_does_not_wait_for_all_of_a_long_one() -> None:
    held = Held()

    async def work(queue: WorkQueue) -> list[list[Row]]:
        long = asyncio.create_task(queue.run("m", [LONG] * 20, held))
        await held.has_begun()
        short = asyncio.create_task(queue.run("m", ["short"], held))
        await asyncio.sleep(0)
        held.released.set()
        await asyncio.gather(long, short)
        return held.calls

    calls = run(work)

    assert calls.index(["short"]) <= 2
    assert sum(map(len, calls)) == 21


def test_rows_of_short_requests_are_computed_together_if_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_queue, "SLICE_SECONDS", PATIENCE)  # however slow the machine seems to be, a turn has room
    held = Held()

    async def work(queue: WorkQueue) -> list[Any]:
        first = asyncio.create_task(queue.run("m", ["first"], held, merges=True))
        await held.has_begun()
        others = [asyncio.create_task(queue.run("m", ["a" * number], held, merges=True)) for number in range(5)]
        await asyncio.sleep(0)
        held.released.set()
        return [flat(parts) for parts in await asyncio.gather(first, *others)]

    found = run(work)

    assert found == [[5], [0], [1], [2], [3], [4]]
    assert len(held.calls) == 2


def test_rows_of_different_requests_are_not_mixed_otherwise() -> None:
    held = Held()

    async def work(queue: WorkQueue) -> None:
        first = asyncio.create_task(queue.run("m", ["first"], held))
        await held.has_begun()
        others = [asyncio.create_task(queue.run("m", ["other"], held)) for _ in range(3)]
        await asyncio.sleep(0)
        held.released.set()
        await asyncio.gather(first, *others)

    run(work)

    assert [len(call) for call in held.calls] == [1, 1, 1, 1]


def test_what_would_wait_too_long_is_refused_at_once_and_says_when_to_come_back() -> None:
    held = Held()

    async def work(queue: WorkQueue) -> Refused:
        running = asyncio.create_task(queue.run("m", [LONG] * 20, held))
        await held.has_begun()
        with pytest.raises(Refused) as refused:
            await queue.run("m", [LONG] * 20, held)
        assert queue.is_overloaded is False  # a short one would still get its turn
        held.released.set()
        await running
        return refused.value

    refusal = run(work, limits=QueueLimits(waiting_seconds=0.1))

    assert refusal.status == 429
    assert int(refusal.headers["retry-after"]) >= 1


def test_too_many_requests_are_refused() -> None:
    held = Held()

    async def work(queue: WorkQueue) -> None:
        running = asyncio.create_task(queue.run("m", ["now"], held))
        await held.has_begun()
        waiting = [asyncio.create_task(queue.run("m", ["later"], held)) for _ in range(2)]
        await asyncio.sleep(0)
        assert queue.is_overloaded
        with pytest.raises(Refused):
            await queue.run("m", ["too much"], held)
        held.released.set()
        await asyncio.gather(running, *waiting)

    run(work, limits=QueueLimits(jobs=3))

    assert ["too much"] not in held.calls


def test_a_server_that_is_behind_takes_nothing_more() -> None:
    async def work(queue: WorkQueue) -> None:
        queue.lag = 5.0
        with pytest.raises(Refused, match="5 s"):
            await queue.run("m", ["text"], lengths)

    run(work)


def test_what_a_turn_waits_for_the_processor_counts_as_the_time_of_its_rows() -> None:
    """Else a queue on a busy machine promises two seconds and means eight."""

    class Late(WorkQueue):
        def _next_turn(self) -> Any:
            time.sleep(0.2)
            return super()._next_turn()

    async def work() -> float:
        queue = Late()
        await queue.run("m", [LONG] * 2, lengths)
        queue.stop()
        return queue.rate("m") * units(LONG)

    assert asyncio.run(work()) > 0.05  # half of it: the first turn follows no other


def test_the_rest_of_a_request_is_dropped_when_its_client_has_left() -> None:
    held, left = Held(), threading.Event()

    async def leaving() -> None:
        await asyncio.to_thread(left.wait, PATIENCE)

    async def work(queue: WorkQueue) -> WorkQueue:
        asked = asyncio.create_task(queue.run("m", [LONG] * 50, held, has_left=leaving))
        await held.has_begun()
        left.set()
        with pytest.raises(ClientLeft):
            await asked
        held.released.set()
        assert flat(await queue.run("m", ["after"], lengths)) == [5]
        return queue

    queue = run(work)

    assert len(held.calls) == 1
    assert queue.left == 1
    assert queue.waiting_jobs == 0
    assert queue.waiting_seconds == pytest.approx(0)


def test_an_error_of_the_model_reaches_the_request_and_no_other() -> None:
    def broken(rows: list[Row]) -> list[int]:
        raise RuntimeError(f"{len(rows)} rows")

    async def work(queue: WorkQueue) -> list[int]:
        with pytest.raises(RuntimeError, match="1 rows"):
            await queue.run("m", ["text"], broken)
        return flat(await queue.run("m", ["text"], lengths))

    assert run(work) == [4]


def test_a_short_request_to_an_idle_model_whose_speed_is_known_needs_no_thread() -> None:
    threads: list[str] = []

    def noting(rows: list[Row]) -> list[int]:
        threads.append(threading.current_thread().name)
        return lengths(rows)

    async def work(queue: WorkQueue) -> None:
        for _ in range(MEASURED + 1):
            await queue.run("m", ["text"], noting)

    run(work)

    assert threads[0].startswith("model-")
    assert threads[-1] == threading.main_thread().name


def test_no_rows_need_no_model() -> None:
    assert flat(run(lambda queue: queue.run("m", [], lengths))) == []
