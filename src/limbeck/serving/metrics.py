"""What Prometheus may read: requests, errors, rows and seconds."""

import time

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from limbeck import __version__
from limbeck.artifacts.model_folder import ModelFacts

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """The counters of one server, in a registry of their own, so that two servers in one process do not mix."""

    def __init__(self, facts: ModelFacts) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("limbeck_requests", "Requests that were answered", ["path"])
        self._errors = self._counter(
            "limbeck_errors", "Requests that were refused (4xx) or failed (5xx)", ["path", "status"]
        )
        self.rows = self._counter("limbeck_rows", "Rows that were classified", [])
        self._seconds = Histogram(
            "limbeck_request_seconds",
            "Seconds from the head of a request to the end of its answer",
            ["path"],
            buckets=SECONDS,
            registry=self._registry,
        )
        model = Info("limbeck_model", "The model that answers", registry=self._registry)
        model.info({"name": facts.name, "precision": facts.precision, "version": __version__})
        ProcessCollector(registry=self._registry)

    def _counter(self, name: str, meaning: str, labels: list[str]) -> Counter:
        return Counter(name, meaning, labels, registry=self._registry)

    def note(self, *, path: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(path).inc()
        self._seconds.labels(path).observe(seconds)
        if status >= 400:
            self._errors.labels(path, str(status)).inc()

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class Counted:
    """Counts every request that passes. Paths that are none of ours are counted as one: a scan of the server by a
    stranger must not fill its memory with their names."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on and note how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500  # unless an answer begins

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.note(path=path, status=status, seconds=time.perf_counter() - started)
