"""The web application: one model, five addresses, and a description of them at /openapi.json."""

import time
from dataclasses import asdict
from importlib.resources import files
from typing import Protocol

import numpy as np
import numpy.typing as npt
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, Info, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from limbeck import __version__
from limbeck.artifacts.model_folder import ModelFacts
from limbeck.runtime.probabilities import best_labels, label_sets
from limbeck.runtime.row import Row
from limbeck.runtime.stream import Predicts
from limbeck.serving.limits import STANDARD_LIMITS, BodyLimit, Limits
from limbeck.serving.messages import (
    Answer,
    Health,
    Model,
    MultiLabelAnswer,
    MultiLabelPrediction,
    Prediction,
    Problem,
    Question,
    refuse_malformed,
    rows_of,
)

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """The counters of one server, in their own registry, so that two servers in one process do not share them."""

    def __init__(self, facts: ModelFacts) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("limbeck_requests", "Requests that were answered", ["path"])
        self._errors = self._counter(
            "limbeck_errors", "Requests that were refused (4xx) or failed (5xx)", ["path", "status"]
        )
        self.rows = self._counter("limbeck_rows", "Rows that were classified", [])
        self._seconds = Histogram(
            "limbeck_request_seconds",
            "Seconds from the start of a request to the end of its response",
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
    """Counts every request. Unknown paths are counted as one: a scan of the server by a
    stranger must not fill its memory with path names."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

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
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.note(path=path, status=status, seconds=time.perf_counter() - started)


PAGE = "playground.html"
PATHS = frozenset({"/", "/predict", "/health", "/model", "/metrics", "/openapi.json"})
REFUSALS: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "The body is not JSON"},
    413: {"model": Problem, "description": "Too many rows, too long a text, or too large a body"},
    415: {"model": Problem, "description": "The content type is not JSON"},
    422: {"model": Problem, "description": "The body is not a question this model can answer"},
}
DIGITS = 6  # of a probability, as in the files that `limbeck predict` writes
# The page may connect to this server only, whatever a label or a text contains.
PAGE_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Served(Predicts, Protocol):
    """What a server needs of a classifier."""

    @property
    def engine(self) -> str: ...


def create_app(classifier: Served, *, size_mb: float, limits: Limits = STANDARD_LIMITS, threads: int = 1) -> FastAPI:
    """The application for a loaded model.

    `threads` is how many requests the model computes at once; the others wait, while requests that need no model
    (/health, /metrics, the page) are answered. FastAPI's own pages /docs and /redoc are disabled: they load scripts
    from another server.
    """
    facts = classifier.facts
    metrics = Metrics(facts)
    app = FastAPI(title=f"Limbeck: {facts.name}", version=__version__, docs_url=None, redoc_url=None)
    _answer_questions(app, classifier, metrics=metrics, limits=limits, threads=threads)
    _answer_about_the_model(app, _model(classifier, size_mb=size_mb, limits=limits))
    _show_metrics_and_page(app, metrics)
    app.add_exception_handler(RequestValidationError, refuse_malformed)
    app.add_middleware(BodyLimit, most=limits.body_bytes)
    app.add_middleware(Counted, metrics=metrics, paths=PATHS)  # the last one added runs first
    return app


def _answer_questions(app: FastAPI, classifier: Predicts, *, metrics: Metrics, limits: Limits, threads: int) -> None:
    limiter = CapacityLimiter(threads)
    answer: type[Answer | MultiLabelAnswer] = MultiLabelAnswer if classifier.facts.multi_label else Answer

    @app.post("/predict", response_model=answer, responses=REFUSALS)
    async def predict(question: Question) -> Response:
        """The model's label for each text, and the probabilities."""
        rows = rows_of(question, pair=classifier.facts.pair, limits=limits)
        body = await to_thread.run_sync(_answer, classifier, rows, limiter=limiter)
        metrics.rows.inc(len(rows))
        return Response(body, media_type="application/json")


def _answer(classifier: Predicts, rows: list[Row]) -> str:
    """The answer as JSON; written here, in the thread, because for many rows that takes a while too."""
    started = time.perf_counter()
    probabilities = classifier.predict_proba(rows)
    milliseconds = (time.perf_counter() - started) * 1_000
    return _as_answer(classifier, probabilities, milliseconds=round(milliseconds, 3)).model_dump_json()


def _as_answer(
    classifier: Predicts, probabilities: npt.NDArray[np.float32], *, milliseconds: float
) -> Answer | MultiLabelAnswer:
    names = classifier.labels
    by_label = [
        {name: round(value, DIGITS) for name, value in zip(names, row, strict=True)} for row in probabilities.tolist()
    ]
    if classifier.facts.multi_label:
        sets = zip(label_sets(probabilities, names), by_label, strict=True)
        several = [MultiLabelPrediction(labels=labels, probabilities=of_row) for labels, of_row in sets]
        return MultiLabelAnswer(predictions=several, milliseconds=milliseconds)
    best = zip(best_labels(probabilities, names), by_label, strict=True)
    single = [Prediction(label=label, probabilities=of_row) for label, of_row in best]
    return Answer(predictions=single, milliseconds=milliseconds)


def _answer_about_the_model(app: FastAPI, model: Model) -> None:
    health = Health(ready=True, model=model.name, version=__version__)

    @app.get("/health")
    async def is_ready() -> Health:
        """Whether the model is loaded. The server only runs with one, so any answer means yes."""
        return health

    @app.get("/model")
    async def about_the_model() -> Model:
        """Labels, size and limits."""
        return model


def _model(classifier: Served, *, size_mb: float, limits: Limits) -> Model:
    return Model(
        **asdict(classifier.facts),
        engine=classifier.engine,
        size_mb=round(size_mb, 3),
        max_rows=limits.rows,
        max_characters=limits.characters,
    )


def _show_metrics_and_page(app: FastAPI, metrics: Metrics) -> None:
    page = (files("limbeck.serving") / PAGE).read_text(encoding="utf-8")

    @app.get("/metrics", response_class=Response)
    async def show_metrics() -> Response:
        """Requests, errors, rows and seconds, for Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def show_page() -> HTMLResponse:
        return HTMLResponse(page, headers={"content-security-policy": PAGE_POLICY})
