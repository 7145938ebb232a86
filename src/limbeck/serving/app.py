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
from prometheus_client import CONTENT_TYPE_LATEST

from limbeck import __version__
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
)
from limbeck.serving.metrics import Counted, Metrics
from limbeck.serving.rows import refuse_malformed, rows_of

PAGE = "playground.html"
PATHS = frozenset({"/", "/predict", "/health", "/model", "/metrics", "/openapi.json"})
REFUSALS: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "The body is not JSON"},
    413: {"model": Problem, "description": "Too many rows, too long a text, or too large a body"},
    415: {"model": Problem, "description": "The content type is not JSON"},
    422: {"model": Problem, "description": "The body is not a question this model can answer"},
}
DIGITS = 6  # of a probability, as in the files that `limbeck predict` writes
# The page may talk to this server and to nobody else, whatever a label or a text holds.
PAGE_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Served(Predicts, Protocol):
    """All a server asks of a classifier."""

    @property
    def engine(self) -> str: ...


def create_app(classifier: Served, *, size_mb: float, limits: Limits = STANDARD_LIMITS, threads: int = 1) -> FastAPI:
    """The application for a loaded model.

    `threads` is how many requests the model works on at once; the others wait their turn, and what needs no model
    (/health, /metrics, the page) is answered meanwhile. FastAPI's own pages /docs and /redoc are left out: they load
    scripts from another server.
    """
    facts = classifier.facts
    metrics = Metrics(facts)
    app = FastAPI(title=f"Limbeck: {facts.name}", version=__version__, docs_url=None, redoc_url=None)
    _answer_questions(app, classifier, metrics=metrics, limits=limits, threads=threads)
    _answer_about_the_model(app, _model(classifier, size_mb=size_mb, limits=limits))
    _show_metrics_and_page(app, metrics)
    app.add_exception_handler(RequestValidationError, refuse_malformed)
    app.add_middleware(BodyLimit, most=limits.body_bytes)
    app.add_middleware(Counted, metrics=metrics, paths=PATHS)  # the last one added is the first one passed
    return app


def _answer_questions(app: FastAPI, classifier: Predicts, *, metrics: Metrics, limits: Limits, threads: int) -> None:
    turns = CapacityLimiter(threads)
    answer: type[Answer | MultiLabelAnswer] = MultiLabelAnswer if classifier.facts.multi_label else Answer

    @app.post("/predict", response_model=answer, responses=REFUSALS)
    async def predict(question: Question) -> Response:
        """What the model says about each text, and with which probabilities."""
        rows = rows_of(question, pair=classifier.facts.pair, limits=limits)
        body = await to_thread.run_sync(_answer, classifier, rows, limiter=turns)
        metrics.rows.inc(len(rows))
        return Response(body, media_type="application/json")


def _answer(classifier: Predicts, rows: list[Row]) -> str:
    """The answer as JSON; written here, in the thread, because for many rows that takes a while too."""
    started = time.perf_counter()
    probabilities = classifier.predict_proba(rows)
    milliseconds = (time.perf_counter() - started) * 1_000
    return _said(classifier, probabilities, milliseconds=round(milliseconds, 3)).model_dump_json()


def _said(
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
        """Whether the model is loaded. There is no server without one, so that an answer is a yes."""
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
