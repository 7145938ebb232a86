"""What the student is unsure of, passed on: a folder in the queue of all work, a server in threads of its own."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from limbeck.runtime.cascade import BUSY, FALLBACK, Cascade, CascadeAnswers
from limbeck.runtime.fallbacks.fallback import FallbackFailed
from limbeck.runtime.fallbacks.opening import LocalFallback
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row
from limbeck.serving.metrics import Metrics
from limbeck.serving.served_models import ServedModel
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.work_queue import ClientLeft, WorkQueue, first_of

LOGGER = logging.getLogger("uvicorn.error")
SECONDS_BETWEEN_WARNINGS = 60.0
QUESTIONS = 8  # that a server is asked at a time
WAITING = 32  # more do not wait: the student's answers are given
Asked = tuple[Floats | None, FallbackFailed | None]
HasLeft = Callable[[], Awaitable[None]]


class FallbackCalls:
    """Asks fallbacks without holding anybody else up; the student's answers stay where one cannot be asked in time."""

    def __init__(self, queue: WorkQueue, metrics: Metrics) -> None:
        self._queue, self._metrics = queue, metrics
        self._threads = ThreadPoolExecutor(QUESTIONS, thread_name_prefix="fallback")
        self._warned = -SECONDS_BETWEEN_WARNINGS
        self._asked = 0  # questions that are with a server, or wait for a thread

    def close(self) -> None:
        """Ask nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def ask(
        self, model: ServedModel, cascade: Cascade, rows: Sequence[Row], probabilities: Floats, has_left: HasLeft
    ) -> CascadeAnswers:
        """The answers of student and fallback together. Raises ClientLeft."""
        unsure = cascade.unsure(probabilities)
        if not unsure.any():
            return cascade.merged(probabilities, unsure)
        asked = [rows[place] for place in np.flatnonzero(unsure).tolist()]
        ask = self._of_folder if isinstance(cascade.fallback, LocalFallback) else self._of_server
        started = time.perf_counter()
        try:
            found, failure = await ask(model, cascade, asked, has_left)
        except Refused:
            self._metrics.refuse("fallback")
            return cascade.merged(probabilities, unsure, note=BUSY)
        if failure is not None:
            self._metrics.fail_fallback(model.name)
            self._warn(failure)
        if found is not None:
            self._metrics.time(model.name, seconds=time.perf_counter() - started, by=FALLBACK)
        return cascade.merged(probabilities, unsure, found, failure)

    async def _of_folder(self, model: ServedModel, cascade: Cascade, rows: list[Row], has_left: HasLeft) -> Asked:
        """In turns with all other work; after a failure the rest is not asked."""
        failures: list[FallbackFailed] = []
        missing = np.full(len(model.facts.labels), np.nan, dtype=np.float32)

        def compute(some: list[Row]) -> Any:
            found, failure = (None, None) if failures else cascade.asked(some)
            if failure is not None:
                failures.append(failure)
            return np.tile(missing, (len(some), 1)) if found is None else found

        parts = await self._queue.run(f"{model.name} fallback", rows, compute, has_left=has_left)
        found = np.concatenate(parts)
        if np.isnan(found).all():
            return None, failures[0] if failures else None
        return found, failures[0] if failures else None

    async def _of_server(self, model: ServedModel, cascade: Cascade, rows: list[Row], has_left: HasLeft) -> Asked:
        del model
        if self._asked >= QUESTIONS + WAITING:
            raise Refused(429, BUSY)
        self._asked += 1
        call = asyncio.get_running_loop().run_in_executor(self._threads, cascade.asked, rows)
        call.add_done_callback(self._done)
        try:
            await first_of(call, has_left())
        finally:
            if not call.done():
                call.cancel()  # if it waits for a thread: one that asks has its own time-out
        if call.cancelled():
            raise ClientLeft
        return call.result()

    def _warn(self, failure: FallbackFailed) -> None:
        """The reason, once a minute: answers to clients do not have it."""
        now = time.monotonic()
        if now - self._warned > SECONDS_BETWEEN_WARNINGS:
            self._warned = now
            LOGGER.warning("the student answers instead: %s", str(failure).splitlines()[0])

    def _done(self, _: "asyncio.Future[Asked]") -> None:
        self._asked -= 1
