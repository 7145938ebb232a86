"""What the addresses take, as JSON schemas for /openapi.json; a test holds them against the readers."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from limbeck.serving.limits import Limits
from limbeck.serving.wire.answers import (
    ANSWERS,
    BY_ADDRESS,
    REFUSALS,
    MultiLabelPredictAnswer,
    PredictAnswer,
    ScorePredictAnswer,
)
from limbeck.serving.wire.kserve import BINARY_TYPE, LABEL, LOGITS, MOST_CHARACTERS_OF_AN_ID, PROBABILITIES
from limbeck.serving.wire.questions import JSON_TYPE
from limbeck.serving.wire.tensors import HEADER

OUTPUTS_OF_CLASSES = (LABEL, PROBABILITIES, LOGITS)
Schema: TypeAlias = dict[str, Any]
REFERENCE = "#/components/schemas/{model}"
# Each address that takes a question, and the names of what it takes.
QUESTIONS = {
    "/predict": ("Question", "TeiQuestion"),
    "/models/{name}/predict": ("Question", "TeiQuestion"),
    "/": ("HuggingFaceQuestion",),
    "/v1/classify": ("ClassifyQuestion",),
    "/classify": ("ClassifyQuestion",),
    "/v2/models/{name}/infer": ("InferQuestion",),
}
PAIR = ["a question", "another question"]
WHY = {
    400: "The body is not JSON",
    404: "There is no model of this name",
    413: "Too many rows, too long a text, or too large a body",
    415: "The content type is not JSON, or the body is compressed",
    422: "The body is not a question this model can answer",
}


def components(
    limits: Limits, *, pair: bool | None = None, outputs: Sequence[str] = OUTPUTS_OF_CLASSES
) -> dict[str, Schema]:
    """Every schema that `operation` refers to, for `components.schemas`.

    `pair`: whether all models read two texts a row; None: some do, and some do not. `outputs` are the tensors that
    KServe's clients may ask for.
    """
    answers = [*ANSWERS, *REFUSALS.values()]
    _, schema = models_json_schema([(model, "validation") for model in answers], ref_template=REFERENCE)
    definitions: dict[str, Schema] = schema["$defs"]
    return definitions | {
        "Question": _question(limits, pair=pair),
        "TeiQuestion": _tei(limits, pair=pair),
        "HuggingFaceQuestion": _hugging_face(limits, pair=pair),
        "ClassifyQuestion": _classify(limits, pair=pair),
        "InferQuestion": _infer(limits, pair=pair, outputs=outputs),
    }


Scores: TypeAlias = Literal["none", "some", "all"]  # of the models of a server


def operation(address: str, *, multi_label: bool | None = False, scores: Scores = "none") -> Schema:
    """`requestBody`, where there is one, and `responses` of an address, as OpenAPI has them.

    `multi_label`: whether the models give several labels a row, which decides how /predict answers; None: some do.
    `scores`: whether they give scores.
    """
    ours: list[type[BaseModel]] = [PredictAnswer] if not multi_label else []
    ours += [] if multi_label is False else [MultiLabelPredictAnswer]
    ours = [ScorePredictAnswer] if scores == "all" else [*ours, *([ScorePredictAnswer] if scores == "some" else [])]
    own = [model.__name__ for model in ours]
    names = [one for name in BY_ADDRESS[address] for one in (own if name == PredictAnswer.__name__ else [name])]
    answer: Schema = {"description": "The answer", "content": {JSON_TYPE: {"schema": _one_of(names)}}}
    if address not in QUESTIONS:
        return {"responses": {"200": answer}}
    asked: Schema = {"required": True, "content": {JSON_TYPE: {"schema": _one_of(QUESTIONS[address])}}}
    if "InferQuestion" in QUESTIONS[address]:
        answer["content"][BINARY_TYPE] = {"schema": {"type": "string", "format": "binary"}}
        asked["description"] = (
            f"JSON. With the header '{HEADER}' binary data may follow it, as Triton's clients send it."
        )
    return {
        "requestBody": asked,
        "responses": {"200": answer} | {str(status): refusal(address, why) for status, why in WHY.items()},
    }


def refusal(address: str, description: str) -> Schema:
    """A refusal in the manner of an address, as a response of OpenAPI."""
    of_group = next(model for start, model in REFUSALS.items() if address.startswith(start))
    model = REFUSALS["/predict"] if address == "/" else of_group
    return {"description": description, "content": {JSON_TYPE: {"schema": _one_of([model.__name__])}}}


def _one_of(names: list[str] | tuple[str, ...]) -> Schema:
    references = [{"$ref": REFERENCE.format(model=name)} for name in names]
    return references[0] if len(references) == 1 else {"oneOf": references}


def _text(limits: Limits) -> Schema:
    return {"type": "string", "maxLength": limits.characters}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: Schema, required: list[str], *, closed: bool = False) -> Schema:
    known = {"type": "object", "properties": properties, "required": required}
    return known | ({"additionalProperties": False} if closed else {})


def _question(limits: Limits, *, pair: bool | None) -> Schema:
    """Either texts or rows: that the other one is missing or null is part of the schema. Models of pairs take rows."""
    text = _text(limits)
    second = {None: _or_null(text), True: text, False: {"type": "null"}}[pair]
    row = _object({"text": text, "pair": second}, ["text", "pair"] if pair else ["text"], closed=True)
    lists = {"texts": text, "rows": row}
    properties: dict[str, Schema] = {
        key: {"type": ["array", "null"], "items": item, "maxItems": limits.rows} for key, item in lists.items()
    }
    properties["model"] = {"type": ["string", "null"], "description": "Name of the model; the default one without."}
    properties["explain"] = {"type": "boolean", "default": False, "description": "Which pieces moved the answer."}
    choices = [("rows", "texts")] if pair else [("texts", "rows"), ("rows", "texts")]
    either = [
        {"properties": {key: {"type": "array"}, other: {"type": "null"}}, "required": [key]} for key, other in choices
    ]
    a_pair = {"rows": [{"text": "a question", "pair": "another question"}]}
    example = a_pair if pair else {"texts": ["a gorgeous, witty film"]}
    return _object(properties, [], closed=True) | {"oneOf": either, "title": "Question", "examples": [example]}


def _inputs(limits: Limits, *, pair: bool | None) -> Schema:
    """One row by itself or a list of rows; a row is a text, a list of one or two texts, or an object."""
    text = _text(limits)
    lengths = (1 if pair is not True else 2, 2 if pair is not False else 1)
    listed = {"type": "array", "items": text, "minItems": lengths[0], "maxItems": lengths[1]}
    second = {None: _or_null(text), True: text, False: {"type": "null"}}[pair]
    named = _object({"text": text, "text_pair": second}, ["text", "text_pair"] if pair else ["text"])
    row = [listed, named] if pair else [text, listed, named]
    rows = {"type": "array", "items": {"anyOf": row}, "maxItems": limits.rows}
    alone = [listed, named] if pair else [text, named]
    return {
        "anyOf": [*alone, rows],
        "description": "Rows. Two texts in a list are two rows; for a model of pairs they are one pair.",
    }


def _name() -> Schema:
    return {"type": ["string", "null"], "description": "Name of the model; the default one without."}


def _tei(limits: Limits, *, pair: bool | None) -> Schema:
    flag: Schema = {"type": ["boolean", "null"], "default": False}
    properties: dict[str, Schema] = {
        "inputs": _inputs(limits, pair=pair),
        "raw_scores": flag | {"description": "Logits instead of probabilities."},
        "truncate": flag | {"description": "Changes nothing: a long text is always cut at its end."},
        "truncation_direction": {"enum": ["Right", "right", None], "default": "Right"},
        "model": _name(),
    }
    own = {"anyOf": [{"required": ["texts"]}, {"required": ["rows"]}]}
    example = {"inputs": PAIR if pair else "a witty film"}
    return _object(properties, ["inputs"]) | {"not": own, "title": "TeiQuestion", "examples": [example]}


def _hugging_face(limits: Limits, *, pair: bool | None) -> Schema:
    parameters = _object(
        {
            "top_k": {"type": ["integer", "null"], "minimum": 1},
            "function_to_apply": {"enum": ["softmax", "sigmoid", "none", None]},
        },
        [],
    )
    properties = {"inputs": _inputs(limits, pair=pair), "parameters": _or_null(parameters), "model": _name()}
    example = {"inputs": PAIR if pair else "a witty film", "parameters": {"top_k": 1}}
    return _object(properties, ["inputs"]) | {"title": "HuggingFaceQuestion", "examples": [example]}


def _classify(limits: Limits, *, pair: bool | None) -> Schema:
    properties = {
        "input": _inputs(limits, pair=pair),
        "model": _name(),
        "use_activation": {"type": ["boolean", "null"], "description": "false: logits instead of probabilities."},
    }
    example = {"input": [PAIR] if pair else ["a witty film"]}
    return _object(properties, ["input"]) | {"title": "ClassifyQuestion", "examples": [example]}


def _infer(limits: Limits, *, pair: bool | None, outputs: Sequence[str]) -> Schema:
    """One tensor of texts; for pairs two of them, or one with two texts a row. JSON alone: binary data is no JSON."""
    binary = _object({"binary_data": {"type": "boolean"}, "classification": False}, [])
    output = _object({"name": {"enum": list(outputs)}, "parameters": _or_null(binary)}, ["name"])
    once = [_at_most_one(name) for name in outputs]
    single = {"prefixItems": [_tensor(limits, width=1)], "minItems": 1, "maxItems": 1}
    both = {"prefixItems": [_tensor(limits, width=2)], "minItems": 1, "maxItems": 1}
    named = [_tensor(limits, width=1, name=name) for name in ("text", "pair")]
    two = {"oneOf": [{"prefixItems": order, "minItems": 2, "maxItems": 2} for order in (named, named[::-1])]}
    pairs: list[Schema] = [both, two]
    ways = {None: [single, *pairs], True: pairs, False: [single]}[pair]
    properties = {
        "id": {"type": ["string", "null"], "maxLength": MOST_CHARACTERS_OF_AN_ID},
        "parameters": _or_null(_object({"binary_data_output": {"type": "boolean"}}, [])),
        "inputs": {"type": "array", "anyOf": ways, "description": "The sizes of a shape multiply to its texts."},
        "outputs": _or_null({"type": "array", "items": output, "allOf": once}),
    }
    names = ["text", "pair"] if pair else ["text"]
    example = {"inputs": [{"name": name, "shape": [1], "datatype": "BYTES", "data": ["a film"]} for name in names]}
    return _object(properties, ["inputs"]) | {"title": "InferQuestion", "examples": [example]}


def _tensor(limits: Limits, *, width: int, name: str | None = None) -> Schema:
    """So many texts a row; `name`: the only one that it may have."""
    texts = {"type": "array", "items": _text(limits)}
    sizes: list[Schema] = [{"type": "integer", "minimum": 0, "maximum": limits.rows}, {"const": width}]
    return _object(
        {
            "name": {"type": "string"} if name is None else {"const": name},
            "shape": {"type": "array", "prefixItems": sizes, "minItems": width, "maxItems": 2},
            "datatype": {"const": "BYTES"},
            "data": {"anyOf": [texts, {"type": "array", "items": texts}]},
            "parameters": _or_null(_object({"binary_data_size": False}, [])),
        },
        ["name", "shape", "datatype", "data"],
    )


def _at_most_one(name: str) -> Schema:
    """Of the outputs."""
    found = {"properties": {"name": {"const": name}}, "required": ["name"]}
    return {"contains": found, "minContains": 0, "maxContains": 1}
