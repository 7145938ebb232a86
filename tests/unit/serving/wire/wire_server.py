"""A server of one exported model with the wire formats alone, as a process of its own: python wire_server.py FOLDER."""

import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from limbeck import __version__
from limbeck.runtime.classifier import load
from limbeck.serving.limits import STANDARD_LIMITS
from limbeck.serving.wire import hugging_face, kserve, own, vllm
from limbeck.serving.wire.questions import JSON_TYPE, Answered, AskedModel, Reads
from limbeck.serving.wire.refusals import Refused, refusal_body


def app_of(folder: str) -> Starlette:
    """The routes of all formats."""
    classifier = load(folder)
    facts = classifier.facts
    model = AskedModel(facts.name, tuple(facts.labels), facts.pair, facts.multi_label, facts.max_length, version="")

    def choose(name: str | None) -> AskedModel:
        if name not in (None, model.name):
            raise Refused(404, "there is no model of this name")
        return model

    def answering(reader: Reads) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            body, name = await request.body(), request.path_params.get("name")
            try:
                asked = reader(body, headers=request.headers, choose=choose, limits=STANDARD_LIMITS, name=name)
            except Refused as refused:
                refusal = refusal_body(request.url.path, refused.status, refused.detail)
                return Response(refusal, refused.status, refused.headers, JSON_TYPE)
            written = asked.write(Answered(classifier.predict_proba(asked.rows), milliseconds=1.0))
            return Response(written.body, headers=dict(written.headers), media_type=written.media_type)

        return answer

    def showing(body: bytes) -> Callable[[Request], Awaitable[Response]]:
        async def show(request: Request) -> Response:
            named = request.path_params.get("name", model.name) == model.name
            return Response(body, 200 if named else 404, media_type=JSON_TYPE)

        return show

    questions: dict[str, Reads] = {
        "/": hugging_face.read_hugging_face,
        "/predict": own.read_predict,
        "/v1/classify": vllm.read_classify,
        "/classify": vllm.read_classify,
        "/v2/models/{name}/infer": kserve.read_infer,
    }
    shown = {
        "/info": hugging_face.info_body(model, limits=STANDARD_LIMITS, version=__version__, most_requests=64),
        "/health": b"{}",
        "/v1/models": vllm.models_body([model], created=int(time.time())),
        "/v2": kserve.server_body(version=__version__),
        "/v2/health/live": kserve.live_body(),
        "/v2/health/ready": kserve.ready_body(ready=True),
        "/v2/models/{name}": kserve.model_body(model),
        "/v2/models/{name}/ready": kserve.model_ready_body(model.name, ready=True),
    }
    routes: list[Any] = [Route(path, answering(reader), methods=["POST"]) for path, reader in questions.items()]
    return Starlette(routes=[*routes, *(Route(path, showing(body)) for path, body in shown.items())])


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app_of(sys.argv[1]), log_level="warning", lifespan="off")).run(sockets=[listener])
