"""What a server does besides answering: it measures how far behind it is, sets gauges, and loads changed models."""

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from anyio import to_thread

from limbeck.serving.connections import Connections
from limbeck.serving.drift import Drift
from limbeck.serving.metrics import Metrics
from limbeck.serving.served_models import ServedModels, reloaded
from limbeck.serving.work_queue import WorkQueue

LOGGER = logging.getLogger("uvicorn.error")
TICK_SECONDS = 0.1
TICKS_OF_GAUGES = 50
TICKS_OF_WATCHING = 10
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Upkeep:
    """Runs beside the requests, in the same event loop."""

    def __init__(self, *, models: ServedModels, queue: WorkQueue, metrics: Metrics, drift: Drift) -> None:
        self._models, self._queue, self._metrics, self._drift = models, queue, metrics, drift
        self.watches = False  # whether models are loaded again when their folders change
        self.reload_wanted: Callable[[], bool] = lambda: False
        self.reload_begins: Callable[[], None] = lambda: None
        self.book: Connections | None = None  # of the server's protocol, if that is ours
        self._counted: Counter[str] = Counter()
        self._has_failed = False
        self.on_start: Callable[[], None] = lambda: None
        self.tell: Callable[[str], None] = lambda _: None  # where a sentence about a reload goes

    async def run(self) -> None:
        """Until it is cancelled. A fault is reported once; the server goes on."""
        self.on_start()
        tick = 0
        while True:
            try:
                await self._do(tick)
            except Exception:
                if not self._has_failed:
                    LOGGER.exception("the server goes on, but something beside answering failed")
                self._has_failed = True
            await asyncio.sleep(TICK_SECONDS)
            tick += 1

    async def measure_lag(self) -> None:
        """How far the event loop is behind, until it is cancelled."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)
            self._queue.lag = max(0.0, time.monotonic() - before - TICK_SECONDS)

    async def _do(self, tick: int) -> None:
        if tick % TICKS_OF_GAUGES == 0:
            self._drift.update(await to_thread.run_sync(self._drift.totals))
            self.set_gauges()
        if self.reload_wanted() or (self.watches and tick % TICKS_OF_WATCHING == 0 and self._models.have_changed()):
            await self._reload()

    def count_connections(self) -> None:
        """Add to the metrics what has happened to connections and to clients since the last call."""
        if self.book is not None:
            counts = self.book.counts
            self._metrics.gauge("limbeck_connections", "Open connections", counts.open, mode="livesum")
            found = Counter({**counts.refused, "made room": counts.made_room})
            for reason, count in (found - self._counted).items():
                self._metrics.refuse(reason, count=count)
            self._counted = found

    async def _reload(self) -> None:
        self.reload_begins()
        if sentence := await to_thread.run_sync(reloaded, self._models):
            self.tell(sentence)
        self._metrics.describe(self._models)

    def set_gauges(self) -> None:
        """What is going on now."""
        self.count_connections()
        gauge = self._metrics.gauge
        gauge("limbeck_waiting_requests", "Requests that wait for a model", self._queue.waiting_jobs, mode="livesum")
        gauge("limbeck_waiting_seconds", "Seconds of work that wait", self._queue.waiting_seconds, mode="livemax")
        gauge("limbeck_event_loop_lag_seconds", "How far the server is behind", self._queue.lag, mode="livemax")
        for model in self._models:
            if model.cascade is not None:
                is_open = float(model.cascade.breaker.state != "closed")
                gauge("limbeck_fallback_paused", "1 while the fallback is not asked", is_open, model=model.name)
        if self._metrics.is_shared:  # else the collector of prometheus_client tells it
            gauge("process_resident_memory_bytes", "Memory of all workers", _resident_bytes(), mode="livesum")


def _resident_bytes() -> float:
    try:
        return float(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):  # not Linux
        return 0.0
