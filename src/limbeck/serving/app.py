"""The web application: the addresses of every wire format, and a description of them at /openapi.json."""

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files

import anyio
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from limbeck import __version__
from limbeck.serving.access import Access
from limbeck.serving.access_log import AccessLog, Logged
from limbeck.serving.drift import Drift
from limbeck.serving.metrics import Counted, Metrics
from limbeck.serving.openapi import FallbackAnswer, HealthAnswer, ModelAnswer, document
from limbeck.serving.predictions import Predictions
from limbeck.serving.served_models import ServedModel, ServedModels
from limbeck.serving.settings import ServerSettings
from limbeck.serving.upkeep import Upkeep
from limbeck.serving.wire.hugging_face import info_body, read_hugging_face
from limbeck.serving.wire.kserve import live_body, model_body, model_ready_body, read_infer, ready_body, server_body
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import JSON_TYPE, Reads
from limbeck.serving.wire.refusals import Refused, refusal_body
from limbeck.serving.wire.vllm import models_body, read_classify
from limbeck.serving.work_queue import WorkQueue

PAGE = "playground.html"
# The page may connect to this server only, whatever a label or a text contains.
PAGE_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
QUESTIONS: dict[str, tuple[Reads, str]] = {  # address: what reads it, and what it is
    "/predict": (read_predict, "Labels and probabilities of texts; also in TEI's form, with `inputs`"),
    "/models/{name}/predict": (read_predict, "The same of one model by name"),
    "/": (read_hugging_face, "Hugging Face's Inference API: text classification"),
    "/v1/classify": (read_classify, "vLLM's classification"),
    "/classify": (read_classify, "The same, where vLLM has it, too"),
    "/v2/models/{name}/infer": (read_infer, "Open Inference Protocol: inference"),
}
REFUSED_BY_STATUS = {413: "too large", 429: "overload"}
ELSEWHERE = {404: "there is no such address; /openapi.json lists all", 405: "this address takes {Allow}"}
PARAMETER = re.compile(r"\{\w+\}")
Shows = Callable[[Request], Response | bytes]
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass
class AppParts:
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


def create_app(
    models: ServedModels, *, settings: ServerSettings | None = None, log: AccessLog | None = None
) -> Starlette:
    """The application for loaded models, for any ASGI server; `app.state.server` has its parts.

    Requests that need no model (/livez, /metrics, the page) are answered while models compute. The limits of headers,
    of times and of connections are not part of it, but of `limbeck.serving.protocol`.
    """
    server = AppParts(models, settings or ServerSettings())
    facts = _facts(server)
    endpoints: dict[str, dict[str, Endpoint]] = {path: {"GET": _showing(show)} for path, (show, _) in facts.items()}
    endpoints["/openapi.json"] = {"GET": _showing(_description(server, facts))}
    for path, (read, _) in QUESTIONS.items():
        endpoints.setdefault(path, {})["POST"] = _answering(server, read)
    routes = [_route(path, methods) for path, methods in endpoints.items()]

    @asynccontextmanager
    async def kept(app: Starlette) -> AsyncIterator[None]:
        del app
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.upkeep.run)
            tasks.start_soon(server.upkeep.measure_lag)
            yield
            tasks.cancel_scope.cancel()
        server.queue.stop()
        server.predictions.close()

    middleware = [  # the first runs first
        Middleware(Counted, metrics=server.metrics, path_of=_paths([route.path for route in routes])),
        *([Middleware(Logged, log=log)] if log else []),
        Middleware(Access, settings=server.settings.access),
    ]
    app = Starlette(routes=routes, lifespan=kept, middleware=middleware, exception_handlers=_refusals(server))
    app.state.server = server
    return app


def _route(path: str, methods: Mapping[str, Endpoint]) -> Route:
    """One route for all methods of an address, so that a refusal of others names them all."""

    async def respond(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method  # the server leaves the body of HEAD out
        return await methods[method](request)

    return Route(path, respond, methods=list(methods))


def _answering(server: AppParts, read: Reads) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await server.predictions.answer(request, read, name=request.path_params.get("name"))

    return answer


def _showing(show: Shows) -> Endpoint:
    async def shown(request: Request) -> Response:
        found = show(request)
        return found if isinstance(found, Response) else Response(found, media_type=JSON_TYPE)

    return shown


def _facts(server: AppParts) -> dict[str, tuple[Shows, str]]:
    """Addresses about the server and its models: what they show, and what they are."""
    models, queue = server.models, server.settings.queue
    page = (files("limbeck.serving") / PAGE).read_text(encoding="utf-8")

    def ready(request: Request) -> Response:
        del request
        body = ready_body(ready=server.is_ready)
        return Response(body, media_type=JSON_TYPE, status_code=200 if server.is_ready else 503)

    def metrics(request: Request) -> Response:
        del request
        server.upkeep.set_gauges()
        return Response(server.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    def info(request: Request) -> bytes:
        del request
        limits = server.settings.limits
        return info_body(models.default.asked, limits=limits, version=__version__, most_requests=queue.jobs)

    def named(request: Request) -> ServedModel:
        return models.by_name(request.path_params["name"])

    return {
        "/": (lambda _: HTMLResponse(page, headers={"content-security-policy": PAGE_POLICY}), "A page to try it"),
        "/health": (lambda _: to_json(_health(server)), "Whether a model is loaded; any answer means yes"),
        "/livez": (lambda _: live_body(), "Whether the server lives"),
        "/readyz": (ready, "Whether it takes more: 503 in overload and while it stops"),
        "/model": (lambda _: to_json(about(models.default, server)), "About the default model"),
        "/models": (lambda _: to_json([about(model, server) for model in models]), "About all models"),
        "/models/{name}": (lambda request: to_json(about(named(request), server)), "About one model"),
        "/metrics": (metrics, "Requests, rows, seconds and drift, for Prometheus"),
        "/info": (info, "About the default model, in TEI's form"),
        "/v1/models": (
            lambda _: models_body([one.asked for one in models], created=server.started),
            "All models, as OpenAI-like servers list them",
        ),
        "/v2": (lambda _: server_body(version=__version__), "Open Inference Protocol: the server"),
        "/v2/health/live": (lambda _: live_body(), "Whether the server lives"),
        "/v2/health/ready": (ready, "Whether it takes more"),
        "/v2/models/{name}": (lambda request: model_body(named(request).asked), "Its tensors"),
        "/v2/models/{name}/ready": (
            lambda request: model_ready_body(named(request).name, ready=True),
            "Whether the model is loaded",
        ),
    }


def _description(server: AppParts, facts: dict[str, tuple[Shows, str]]) -> Shows:
    """Made again when there are other models."""
    known: dict[str, bytes] = {}

    def describe(request: Request) -> bytes:
        del request
        forms = [(model.facts.pair, model.facts.multi_label) for model in server.models]
        pairs, several = {pair for pair, _ in forms}, {multi_label for _, multi_label in forms}
        scored = {model.facts.scale is not None for model in server.models}
        abstain = any(model.facts.abstain is not None for model in server.models)
        key = f"{server.models.default.name} {pairs} {several} {scored} {abstain}"
        if key not in known:
            known.clear()
            described = document(
                questions={path: meaning for path, (_, meaning) in QUESTIONS.items()},
                facts={path: meaning for path, (_, meaning) in facts.items()},
                limits=server.settings.limits,
                title=f"Limbeck: {server.models.default.name}",
                multi_label=several.pop() if len(several) == 1 else None,
                pair=pairs.pop() if len(pairs) == 1 else None,
                keys=bool(server.settings.access.keys),
                scores="some" if len(scored) > 1 else "all" if scored.pop() else "none",
                abstain=abstain,
            )
            known[key] = to_json(described)
        return known[key]

    return describe


def about(model: ServedModel, server: AppParts) -> ModelAnswer:
    """Facts about a model, and the limits of one request."""
    facts, limits, examples = model.facts, server.settings.limits, model.profile.examples if model.profile else ()
    return ModelAnswer(
        name=model.name,
        default=model is server.models.default,
        version=model.version,
        kind=facts.kind,
        precision=facts.precision,
        labels=facts.labels,
        language=facts.language,
        pair=facts.pair,
        multi_label=facts.multi_label,
        score_range=None if facts.scale is None else [facts.scale.low, facts.scale.high],
        max_length=facts.max_length,
        parameters=facts.parameters,
        parameters_without_embeddings=facts.parameters_without_embeddings,
        engine=model.classifier.engine,
        size_mb=round(model.size_mb, 3),
        max_rows=limits.rows,
        max_characters=limits.characters,
        examples=[list(row) if isinstance(row, tuple) else row for row in examples],
        fallback=FallbackAnswer(threshold=model.cascade.threshold) if model.cascade else None,
    )


def _health(server: AppParts) -> HealthAnswer:
    return HealthAnswer(ready=True, model=server.models.default.name, version=__version__)


def _refusals(server: AppParts) -> dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    """Every refusal is JSON, in the form that clients of its address read."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        if error.status in REFUSED_BY_STATUS:
            server.metrics.refuse(REFUSED_BY_STATUS[error.status])
        return _refusal(request, error.status, error.detail, headers=error.headers)

    async def refuse_address(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers, known = dict(error.headers or {}), ELSEWHERE.get(error.status_code)
        detail = str(error.detail) if known is None else known.format(**headers)
        return _refusal(request, error.status_code, detail, headers=headers)

    async def fail(request: Request, error: Exception) -> Response:
        del error  # its traceback goes to the server's log
        return _refusal(request, 500, "the server failed to answer; its log says why", headers={})

    return {Refused: refuse, HTTPException: refuse_address, Exception: fail}


def _refusal(request: Request, status: int, detail: str, *, headers: dict[str, str]) -> Response:
    body = refusal_body(request.url.path, status, detail)
    return Response(body, media_type=JSON_TYPE, status_code=status, headers=headers)


def _paths(paths: list[str]) -> Callable[[str], str]:
    """The address that a path belongs to, for the counters: names of models and paths of strangers are not shown."""
    plain = frozenset(path for path in paths if "{" not in path)
    patterns = [(re.compile(PARAMETER.sub("[^/]+", path)), path) for path in dict.fromkeys(paths) if "{" in path]

    def found(path: str) -> str:
        if path in plain:
            return path
        return next((known for pattern, known in patterns if pattern.fullmatch(path)), "other")

    return found
