"""The description of all addresses at /openapi.json."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from limbeck import __version__
from limbeck.serving.limits import Limits
from limbeck.serving.wire import schemas
from limbeck.serving.wire.answers import BY_ADDRESS
from limbeck.serving.wire.questions import JSON_TYPE
from limbeck.tasks import SCORE

Document: TypeAlias = dict[str, Any]


class HealthAnswer(BaseModel):
    """Whether the server can answer, and with which model."""

    ready: bool
    model: str = Field(description="Name of the default model.")
    version: str = Field(description="Version of Limbeck.")


class FallbackAnswer(BaseModel):
    """What answers where the model is unsure."""

    threshold: float = Field(description="It is asked where the model's confidence is at most this.")


class ModelAnswer(BaseModel):
    """Facts about a model, and the limits of one request."""

    name: str
    default: bool = Field(description="Whether it answers where no model is named.")
    version: str = Field(description="The beginning of the hash of its files: another model has another one.")
    kind: str
    precision: str
    labels: list[str]
    language: str
    pair: bool = Field(description="Whether a row is a pair of texts.")
    multi_label: bool = Field(description="Whether a row may have several labels, or none.")
    score_range: list[float] | None = Field(description="It gives scores from the first to the second; null: labels.")
    max_length: int = Field(description="Tokens of a text that are read; the rest is cut off.")
    parameters: int
    parameters_without_embeddings: int
    engine: str = Field(description="What runs the network: onnxruntime, or native code for this kind of processor.")
    size_mb: float = Field(description="The model's files, in millions of bytes.")
    max_rows: int = Field(description="Rows that one request may have.")
    max_characters: int = Field(description="Characters that one text may have.")
    examples: list[str | list[str]] = Field(description="Rows to try it with, if its folder holds any.")
    fallback: FallbackAnswer | None


OURS: dict[str, type[BaseModel]] = {
    "/health": HealthAnswer,
    "/model": ModelAnswer,
    "/models/{name}": ModelAnswer,
}
OVERLOADED = {
    429: "The server has more to do than it can; `Retry-After` says when to ask again",
    503: "The server is being stopped, or has too many connections; `Retry-After` says when to ask again",
}
NO_KEY = {401: "The server asks for a key, and none of its keys came with the request"}


def document(
    *,
    questions: Mapping[str, str],
    facts: Mapping[str, str],
    limits: Limits,
    title: str,
    multi_label: bool | None,
    pair: bool | None,
    keys: bool,
    scores: schemas.Scores = "none",
    abstain: bool = False,
) -> Document:
    """The description in OpenAPI's form. `questions` and `facts` are addresses and what they are; `keys`: whether the
    server asks for one; `abstain`: whether some of its models do."""
    paths: dict[str, Document] = {}
    for path, meaning in questions.items():
        operation = _operation(path, "post", meaning, schemas.operation(path, multi_label=multi_label, scores=scores))
        errors = {**OVERLOADED, **(NO_KEY if keys else {})}
        operation["responses"] |= {str(status): schemas.refusal(path, why) for status, why in errors.items()}
        paths.setdefault(path, {})["post"] = operation
    for path, meaning in facts.items():
        operation = _operation(path, "get", meaning, _fact(path, multi_label=multi_label))
        if "{name}" in path:
            operation["responses"]["404"] = schemas.refusal(path, "There is no model of this name")
        paths.setdefault(path, {})["get"] = operation
    outputs: tuple[str, ...] = () if scores == "all" else schemas.OUTPUTS_OF_CLASSES
    outputs += (SCORE,) if scores != "none" or abstain else ()
    components: Document = {"schemas": {**schemas.components(limits, pair=pair, outputs=outputs), **_ours()}}
    described: Document = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "components": components,
    }
    if keys:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"key": []}]
    return described


def _operation(path: str, method: str, meaning: str, known: Document) -> Document:
    name = "_".join(filter(None, [method, *path.replace("{", "").replace("}", "").split("/")]))
    parameter = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    parameters = {"parameters": [parameter]} if "{name}" in path else {}
    return {"summary": meaning, "operationId": name, **parameters, **known}


def _fact(path: str, *, multi_label: bool | None) -> Document:
    """The responses of an address that tells about the server."""
    if path in BY_ADDRESS and path not in schemas.QUESTIONS:
        found = schemas.operation(path, multi_label=multi_label)
    elif path in OURS:
        found = _responses({"$ref": schemas.REFERENCE.format(model=OURS[path].__name__)})
    elif path == "/models":
        one = {"$ref": schemas.REFERENCE.format(model=ModelAnswer.__name__)}
        found = _responses({"type": "array", "items": one})
    elif path in ("/livez", "/readyz"):
        name = "ServerLiveness" if path == "/livez" else "ServerReadiness"
        found = _responses({"$ref": schemas.REFERENCE.format(model=name)})
    else:
        media_type = "text/html" if path == "/" else "text/plain"
        found = _responses({"type": "string"}, media_type=media_type)
    if path in ("/readyz", "/v2/health/ready"):
        found["responses"]["503"] = {**found["responses"]["200"], "description": "Not ready"}
    return found


def _responses(schema: Document, *, media_type: str = JSON_TYPE) -> Document:
    return {"responses": {"200": {"description": "The answer", "content": {media_type: {"schema": schema}}}}}


def _ours() -> Document:
    models: list[type[BaseModel]] = [HealthAnswer, FallbackAnswer, ModelAnswer]
    _, schema = models_json_schema([(model, "validation") for model in models], ref_template=schemas.REFERENCE)
    definitions: Document = schema["$defs"]
    return definitions
