"""The counters of a server for Prometheus: its own, or those of several worker processes added up."""

import json
import os
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from limbeck.runtime.cascade import FALLBACK, STUDENT
from limbeck.serving.served_models import ServedModel
from limbeck.serving.workers import SHARED_FOLDER

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
CONFIDENCES = tuple(step / 10 for step in range(1, 10))
WRONG_FROM = 400  # a status
TIMES, SECONDS_BETWEEN = 5, 0.01
T = TypeVar("T")

disable_created_metrics()  # type: ignore[no-untyped-call]  # the time at which a counter began would be another line for each of them


class Metrics:
    """All counters of one server, in a registry of their own, so that two servers in one process do not share them.

    With workers, each process counts in files of a common folder, and whichever is asked adds them up.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.is_shared = SHARED_FOLDER in os.environ
        self._requests = self._counter("limbeck_requests", "Requests that were answered", ["path"])
        self._errors = self._counter(
            "limbeck_errors", "Requests that were refused (4xx) or failed (5xx)", ["path", "status"]
        )
        self._refused = self._counter("limbeck_refused", "Requests and connections that were refused", ["reason"])
        self._seconds = self._histogram(
            "limbeck_request_seconds",
            "Seconds from the start of a request to the end of its response",
            ["path"],
            SECONDS,
        )
        self._rows = self._counter("limbeck_rows", "Rows that were classified", ["model"])
        self._answered = self._counter("limbeck_answered_rows", "Rows by who answered them", ["model", "by"])
        self._abstained = self._counter("limbeck_abstained_rows", "Rows that a model gave no label", ["model"])
        self._model_seconds = self._histogram(
            "limbeck_model_seconds",
            "Seconds that the rows of a request took, by who answered",
            ["model", "by"],
            SECONDS,
        )
        self._fallback_failures = self._counter(
            "limbeck_fallback_failures", "Questions that the fallback did not answer", ["model"]
        )
        self._labels = self._counter("limbeck_labels", "Labels that were given", ["model", "label"])
        self._words = self._counter("limbeck_words", "Words of texts that were looked at", ["model"])
        self._unknown = self._counter("limbeck_unknown_words", "Those that the model does not know", ["model"])
        self._confidence = self._histogram("limbeck_confidence", "Confidence of answers", ["model"], CONFIDENCES)
        self._gauges: dict[str, Gauge] = {}
        if not self.is_shared:
            ProcessCollector(registry=self._registry)

    def _counter(self, name: str, meaning: str, labels: list[str]) -> Counter:
        return Counter(name, meaning, labels, registry=self._registry)

    def _histogram(self, name: str, meaning: str, labels: list[str], buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, meaning, labels, buckets=buckets, registry=self._registry)

    def gauge(self, name: str, meaning: str, value: float, *, mode: str = "livemostrecent", **labels: str) -> None:
        """Set a number that goes up and down. `mode` is how those of several workers become one."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(
                name,
                meaning,
                list(labels),
                registry=self._registry,
                multiprocess_mode=mode,  # type: ignore[arg-type]
            )
        found = self._gauges[name]
        (found.labels(**labels) if labels else found).set(value)

    def describe(self, models: Iterable[ServedModel]) -> None:
        """Name the models that answer, and forget those that no longer do. Workers end when there are other models."""
        if not self.is_shared:
            for gauge in self._gauges.values():
                if "model" in gauge._labelnames:
                    gauge.clear()
        for model in models:
            facts = {"model": model.name, "kind": model.facts.kind, "precision": model.facts.precision}
            self.gauge("limbeck_model_info", "A model that answers", 1, mode="livemax", **facts, version=model.version)
            self._rows.labels(model.name).inc(0)

    def note(self, *, path: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(path).inc()
        self._seconds.labels(path).observe(seconds)
        if status >= WRONG_FROM:
            self._errors.labels(path, str(status)).inc()

    def refuse(self, reason: str, *, count: int = 1) -> None:
        """Count what was refused, and why."""
        self._refused.labels(reason).inc(count)

    def answer(self, model: str, *, rows: int, by_fallback: int = 0) -> None:
        """Count rows that were answered."""
        self._rows.labels(model).inc(rows)
        self._answered.labels(model, STUDENT).inc(rows - by_fallback)
        if by_fallback:
            self._answered.labels(model, FALLBACK).inc(by_fallback)

    def abstain(self, model: str, *, rows: int) -> None:
        """Count rows that were given no label."""
        self._abstained.labels(model).inc(rows)

    def time(self, model: str, *, seconds: float, by: str) -> None:
        """Note how long the student or the fallback took for the rows of a request that it was asked for."""
        self._model_seconds.labels(model, by).observe(seconds)

    def fail_fallback(self, model: str) -> None:
        """Count a question that the fallback did not answer."""
        self._fallback_failures.labels(model).inc()

    def see(self, model: str, *, labels: Mapping[str, int], confidences: Iterable[float]) -> None:
        """Count labels and confidences of answers, which may drift."""
        for label, count in labels.items():
            self._labels.labels(model, label).inc(count)
        observe = self._confidence.labels(model).observe
        for confidence in confidences:
            observe(confidence)

    def read(self, model: str, *, words: int, unknown: int) -> None:
        """Count words of a sample of texts."""
        self._words.labels(model).inc(words)
        self._unknown.labels(model).inc(unknown)

    def collected(self) -> CollectorRegistry:
        """What is reported: with workers, the numbers of all of them."""
        if not self.is_shared:
            return self._registry
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return registry

    def totals(self, counters: Mapping[str, tuple[str, ...]]) -> dict[str, dict[tuple[str, ...], float]]:
        """The values of counters over all workers, by the labels that are named for each."""
        found: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in counters}
        for metric in _tried_again(lambda: list(self.collected().collect())):
            for sample in metric.samples if metric.name in counters else ():
                if sample.name == f"{metric.name}_total":
                    found[metric.name][tuple(sample.labels[label] for label in counters[metric.name])] = sample.value
        return found

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return _tried_again(lambda: generate_latest(self.collected()))


def _tried_again(read: Callable[[], T]) -> T:
    """Another worker may just be making a file of counters, or its file may just have been added to another."""
    for _ in range(TIMES):
        try:
            return read()
        except (struct.error, FileNotFoundError, ValueError, json.JSONDecodeError):
            time.sleep(SECONDS_BETWEEN)
    return read()


class Counted:
    """Counts every request. Unknown paths are counted as one: a scan of the server by a
    stranger must not fill its memory with path names."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, path_of: Any) -> None:
        self._app, self._metrics, self._path_of = app, metrics, path_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and record its status and duration."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500  # unless a response starts

        async def recording_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, recording_send)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.note(path=self._path_of(scope["path"]), status=status, seconds=seconds)
