"""The web application: the addresses of every wire format, and a description of them at /openapi.json."""

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Any

import anyio
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from limbeck import __version__
from limbeck.serving.access import Access
from limbeck.serving.drift import Drift
from limbeck.serving.metrics import Counted, Metrics
from limbeck.serving.predictions import Predictions
from limbeck.serving.served_models import ServedModel, ServedModels
from limbeck.serving.settings import ServerSettings
from limbeck.serving.upkeep import Upkeep
from limbeck.serving.wire import schemas
from limbeck.serving.wire.hugging_face import info_body, read_hugging_face
from limbeck.serving.wire.kserve import live_body, model_body, model_ready_body, read_infer, ready_body, server_body
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import Reads
from limbeck.serving.wire.refusals import Refused, refusal_body
from limbeck.serving.wire.vllm import models_body, read_classify
from limbeck.serving.work_queue import WorkQueue

PAGE = "playground.html"
# The page may connect to this server only, whatever a label or a text contains.
PAGE_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
JSON = "application/json"
QUESTIONS: dict[str, tuple[Reads, str]] = {  # address: what reads it, and what it is
    "/predict": (read_predict, "Labels and probabilities of texts; also in TEI's form, with `inputs`"),
    "/models/{name}/predict": (read_predict, "The same of one model by name"),
    "/": (read_hugging_face, "Hugging Face's Inference API: text classification"),
    "/v1/classify": (read_classify, "vLLM's classification"),
    "/classify": (read_classify, "The same, where vLLM has it, too"),
    "/v2/models/{name}/infer": (read_infer, "Open Inference Protocol: inference"),
}
REFUSED_BY_STATUS = {413: "too large", 429: "overload", 503: "stopping"}
PARAMETER = re.compile(r"\{\w+\}")


@dataclass
class Server:
    """What the application of one process consists of."""

    models: ServedModels
    settings: ServerSettings
    metrics: Metrics = field(default_factory=Metrics)
    started: int = field(default_factory=lambda: int(time.time()))
    is_stopping: Callable[[], bool] = lambda: False  # then it is not ready for more, and still answers
    queue: WorkQueue = field(init=False)
    drift: Drift = field(init=False)
    upkeep: Upkeep = field(init=False)
    predictions: Predictions = field(init=False)

    def __post_init__(self) -> None:
        self.queue = WorkQueue(threads=self.settings.threads, limits=self.settings.queue)
        self.drift = Drift(self.metrics, self.models)
        self.upkeep = Upkeep(models=self.models, queue=self.queue, metrics=self.metrics, drift=self.drift)
        self.predictions = Predictions(
            self.models, queue=self.queue, metrics=self.metrics, limits=self.settings.limits, drift=self.drift
        )
        self.metrics.describe(self.models)

    @property
    def is_ready(self) -> bool:
        """Whether a new request would be answered."""
        return not self.is_stopping() and not self.queue.is_overloaded


def create_app(models: ServedModels, *, settings: ServerSettings | None = None) -> FastAPI:
    """The application for loaded models, for any ASGI server; `app.state.server` has its parts.

    Requests that need no model (/livez, /metrics, the page) are answered while models compute. FastAPI's own pages
    /docs and /redoc are disabled: they load scripts from another server. Limits of headers, of time and of connections
    are not part of it, but of `limbeck.serving.protocol`.
    """
    server = Server(models, settings or ServerSettings())

    @asynccontextmanager
    async def kept(app: FastAPI) -> AsyncIterator[None]:
        del app
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.upkeep.run)
            yield
            tasks.cancel_scope.cancel()
        server.queue.stop()

    app = FastAPI(
        title=f"Limbeck: {models.default.name}", version=__version__, docs_url=None, redoc_url=None, lifespan=kept
    )
    app.state.server = server
    for path, (read, meaning) in QUESTIONS.items():
        _add_question(app, server, path, read, meaning)
    _add_facts(app, server)
    _add_page(app)
    _refuse_in_the_manner_of_the_address(app, server)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Access, settings=server.settings.access)
    app.add_middleware(Counted, metrics=server.metrics, path_of=_path_of(app))  # the last one added runs first
    return app


def _add_question(app: FastAPI, server: Server, path: str, read: Reads, meaning: str) -> None:
    answer = server.predictions.answer
    if "{name}" in path:

        async def endpoint(request: Request, name: str) -> Response:
            return await answer(request, read, name=name)
    else:

        async def endpoint(request: Request) -> Response:  # type: ignore[misc]  # as the other, without a name
            return await answer(request, read)

    app.add_api_route(
        path,
        endpoint,
        methods=["POST"],
        response_class=Response,
        summary=meaning,
        operation_id=f"post_{_as_name(path)}",
        openapi_extra=schemas.question(path, server.models.default.asked),
        responses=schemas.answers(path, server.models.default.asked),
    )


def _add_facts(app: FastAPI, server: Server) -> None:
    """Addresses that tell about the server and its models."""
    models, limits = server.models, server.settings.limits
    default: Callable[[], ServedModel] = lambda: models.default  # noqa: E731  # it may be replaced

    def ready() -> Response:
        status = 200 if server.is_ready else 503
        return Response(ready_body(ready=server.is_ready), media_type=JSON, status_code=status)

    def info() -> bytes:
        return info_body(
            default().asked, limits=limits, version=__version__, most_requests=server.settings.queue.jobs
        )

    def metrics() -> Response:
        server.upkeep.count_connections()
        return Response(server.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    add = _Adder(app, server)
    add("/health", "Whether a model is loaded; any answer means yes", lambda: _json(_health(server)))
    add("/livez", "Whether the server lives", lambda: live_body())
    add("/readyz", "Whether it takes more: 503 in overload and while it stops", ready)
    add("/model", "About the default model", lambda: _json(about(default(), server)))
    add("/models", "About all models", lambda: _json([about(model, server) for model in models]))
    add("/info", "The default model, as TEI tells about it", info)
    add("/metrics", "Requests, rows, seconds and drift, for Prometheus", metrics)
    add("/v1/models", "All models, as OpenAI's list", lambda: models_body([one.asked for one in models], created=server.started))
    add("/v2", "About the server: Open Inference Protocol", lambda: server_body(version=__version__))
    add("/v2/health/live", "Whether the server lives", lambda: live_body())
    add("/v2/health/ready", "Whether it takes more", ready)
    add("/models/{name}", "About one model", lambda name: _json(about(models.by_name(name), server)))
    add("/v2/models/{name}", "Its tensors", lambda name: model_body(models.choose(name)))
    add("/v2/models/{name}/ready", "Whether it answers", lambda name: model_ready_body(models.choose(name).name, ready=True))


@dataclass(frozen=True)
class _Adder:
    """Adds an address that is asked with GET."""

    app: FastAPI
    server: Server

    def __call__(self, path: str, meaning: str, tell: Callable[..., Response | bytes]) -> None:
        def told(*names: str) -> Response:
            found = tell(*names)
            return found if isinstance(found, Response) else Response(found, media_type=JSON)

        if "{name}" in path:

            async def endpoint(name: str) -> Response:
                return told(name)
        else:

            async def endpoint() -> Response:  # type: ignore[misc]  # as the other, without a name
                return told()

        self.app.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            response_class=Response,
            summary=meaning,
            operation_id=f"get_{_as_name(path)}",
            responses=schemas.facts(path),
        )


def about(model: ServedModel, server: Server) -> dict[str, Any]:
    """Facts about a model, and the limits of one request."""
    facts = asdict(model.facts)
    limits = server.settings.limits
    return {
        **{key: value for key, value in facts.items() if key not in ("members", "tokenizer", "temperature")},
        "name": model.name,
        "default": model is server.models.default,
        "engine": model.classifier.engine,
        "size_mb": round(model.size_mb, 3),
        "max_rows": limits.rows,
        "max_characters": limits.characters,
        "examples": [list(row) if isinstance(row, tuple) else row for row in model.profile.examples]
        if model.profile
        else [],
        "fallback": None if model.cascade is None else {"threshold": model.cascade.threshold},
    }


def _health(server: Server) -> dict[str, Any]:
    return {"ready": True, "model": server.models.default.name, "version": __version__}


def _json(value: Any) -> bytes:
    return schemas.to_json(value)


def _add_page(app: FastAPI) -> None:
    page = (files("limbeck.serving") / PAGE).read_text(encoding="utf-8")

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def show_page() -> HTMLResponse:
        return HTMLResponse(page, headers={"content-security-policy": PAGE_POLICY})


def _refuse_in_the_manner_of_the_address(app: FastAPI, server: Server) -> None:
    """Every refusal is JSON, in the form that clients of its address read."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        server.metrics.refuse(REFUSED_BY_STATUS.get(error.status, "not a question"))
        body = refusal_body(request.url.path, error.status, error.detail)
        return Response(body, media_type=JSON, status_code=error.status, headers=error.headers)

    async def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        body = refusal_body(request.url.path, error.status_code, str(error.detail))
        return Response(body, media_type=JSON, status_code=error.status_code, headers=error.headers)

    async def fail(request: Request, error: Exception) -> Response:  # the server's log has the traceback
        del error
        detail = "the server failed to answer; its log says why"
        return Response(refusal_body(request.url.path, 500, detail), media_type=JSON, status_code=500)

    app.add_exception_handler(Refused, refuse)
    app.add_exception_handler(HTTPException, not_found)
    app.add_exception_handler(Exception, fail)


class HeadAsGet:
    """A HEAD request is answered as a GET would be; the server sends the headers alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as GET."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


def _path_of(app: FastAPI) -> Callable[[str], str]:
    """The address that a path belongs to, for the counters: names of models and paths of strangers are not told."""
    paths: list[str] = ["/", "/openapi.json", *(str(getattr(route, "path", "")) for route in app.routes)]
    plain = frozenset(path for path in paths if "{" not in path)
    patterns = [(re.compile(PARAMETER.sub("[^/]+", path)), path) for path in dict.fromkeys(paths) if "{" in path]

    def found(path: str) -> str:
        if path in plain:
            return path
        return next((known for pattern, known in patterns if pattern.fullmatch(path)), "other")

    return found


def _as_name(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_") or "root"


def names_of(models: Iterable[ServedModel]) -> list[str]:
    """Their names."""
    return [model.name for model in models]
