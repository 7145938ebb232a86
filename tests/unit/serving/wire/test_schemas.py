"""The schemas of /openapi.json, held against the readers and writers: what one takes, the other takes."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limbeck.serving.limits import STANDARD_LIMITS, Limits
from limbeck.serving.openapi import document
from limbeck.serving.wire.answers import ANSWERS, BY_ADDRESS
from limbeck.serving.wire.hugging_face import info_body, read_hugging_face
from limbeck.serving.wire.kserve import live_body, model_body, model_ready_body, read_infer, ready_body, server_body
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import Answered, AskedModel
from limbeck.serving.wire.refusals import Refused, refusal_body
from limbeck.serving.wire.schemas import QUESTIONS, components, operation
from limbeck.serving.wire.vllm import models_body, read_classify

jsonschema_rs = pytest.importorskip("jsonschema_rs")

Ask = Callable[..., Any]
FEW = Limits(rows=3, characters=5)
READERS: dict[str, Any] = {
    "/predict": read_predict,
    "/": read_hugging_face,
    "/v1/classify": read_classify,
    "/v2/models/{name}/infer": read_infer,
}
TEXT = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}
GOOD: dict[str, list[dict[str, Any]]] = {
    "/predict": [
        {"texts": ["a", "b"], "model": None, "explain": True},
        {"rows": [{"text": "a", "pair": None}], "texts": None},
        {"inputs": "a", "raw_scores": True, "truncate": None, "truncation_direction": "Right", "other": 1},
        {"inputs": [["a"], {"text": "b"}, "c"]},
    ],
    "/": [
        {"inputs": "a", "parameters": {"top_k": 1, "function_to_apply": "none", "other": 1}},
        {"inputs": ["a", "b"], "parameters": None},
    ],
    "/v1/classify": [{"input": ["a"], "use_activation": False, "user": "me"}, {"input": "a", "model": "single"}],
    "/v2/models/{name}/infer": [
        {"inputs": [TEXT], "id": "1", "parameters": {"binary_data_output": False}},
        {"inputs": [TEXT], "outputs": [{"name": "label", "parameters": {"binary_data": True}}, {"name": "logits"}]},
    ],
}
PAIR: dict[str, Any] = {**TEXT, "shape": [1, 2], "data": ["a", "b"]}
GOOD_PAIRS: dict[str, list[dict[str, Any]]] = {
    "/predict": [
        {"rows": [{"text": "a", "pair": "b"}], "texts": None},
        {"inputs": ["a", "b"], "raw_scores": True},
        {"inputs": [["a", "b"], {"text": "a", "text_pair": "b"}]},
    ],
    "/": [{"inputs": {"text": "a", "text_pair": "b"}, "parameters": {"top_k": 1}}],
    "/v1/classify": [{"input": [["a", "b"], ["c", "d"]]}, {"input": ["a", "b"]}],
    "/v2/models/{name}/infer": [
        {"inputs": [TEXT, {**TEXT, "name": "pair"}], "outputs": [{"name": "label"}, {"name": "probabilities"}]},
        {"inputs": [{**TEXT, "name": "pair", "shape": [1, 1]}, TEXT]},
        {"inputs": [PAIR]},
    ],
}
PIECES: list[Any] = [
    None, True, False, 0, 1, 2.0, 1.5, -1, "", "a", "abcdef", [], ["a"], ["a", "b"], ["a"] * 4, [["a"]],
    [["a", "b", "c"]], [1], {}, {"text": "a"}, {"text": "a", "text_pair": None}, {"text": 1}, [{"text": "a"}],
    {"top_k": 0}, {"binary_data_size": 0}, [2], [1, 1], [1, 3], [5], "Left", "none", "label",
]  # fmt: skip
UNSAYABLE = ("the shape is for", "rows, but 'pair' has")  # no JSON schema says how shapes and data fit together
EXTRA_KEYS = ["texts", "rows", "inputs", "input", "model", "explain", "parameters", "outputs", "id", "other"]


def validator(schema: dict[str, Any], limits: Limits = FEW, *, pair: bool = False) -> Any:
    """Tells whether a value fits a schema of an operation."""
    document = {**schema, "components": {"schemas": components(limits, pair=pair)}}
    return jsonschema_rs.Draft202012Validator(document)


def request_schema(address: str) -> dict[str, Any]:
    found: dict[str, Any] = operation(address)["requestBody"]["content"]["application/json"]["schema"]
    return found


def changed(draw: random.Random, question: dict[str, Any]) -> Any:
    """The question with one part replaced, added or removed, anywhere."""
    changed_question = copy.deepcopy(question)
    place: Any = changed_question
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if isinstance(place, dict) and draw.random() < 0.15:
            place[draw.choice(EXTRA_KEYS)] = copy.deepcopy(draw.choice(PIECES))
            return changed_question
        if not keys:
            return changed_question
        key = draw.choice(keys)
        if isinstance(place[key], dict | list) and draw.random() < 0.6:
            place = place[key]
            continue
        if draw.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(draw.choice(PIECES))
        return changed_question


def refusal_of(ask: Ask, address: str, question: Any, *, model: str = "single") -> str:
    """The sentence, empty if the question is read."""
    try:
        ask(READERS[address], question, limits=FEW, model=model)
    except Refused as refused:
        return f"{refused.status} {refused.detail}"
    return ""


@pytest.mark.parametrize("model", ["single", "pair"])
@pytest.mark.parametrize("address", READERS)
def test_a_question_is_read_if_and_only_if_it_fits_the_schema(address: str, model: str, ask: Ask) -> None:
    good = (GOOD if model == "single" else GOOD_PAIRS)[address]
    draw, fits = random.Random(address), validator(request_schema(address), pair=model == "pair")
    verdicts = {True: 0, False: 0}

    for question in good:
        fits.validate(question)
        assert refusal_of(ask, address, question, model=model) == ""
    for _ in range(2_000):
        question = changed(draw, draw.choice(good))
        said = refusal_of(ask, address, question, model=model)
        if said.startswith("404") or any(words in said for words in UNSAYABLE):
            continue
        verdicts[not said] += 1
        assert fits.is_valid(question) == (not said), (question, said)

    assert min(verdicts.values()) > 100


def test_texts_and_rows_together_do_not_fit() -> None:
    fits = validator(request_schema("/predict"))

    questions: list[Any] = [{"texts": [], "rows": []}, {}, {"texts": None}, {"texts": [], "inputs": "a"}]
    for question in questions:
        assert not fits.is_valid(question)


def test_examples_fit_their_schemas() -> None:
    for name, schema in components(STANDARD_LIMITS).items():
        for example in schema.get("examples", []):
            validator({"$ref": f"#/components/schemas/{name}"}, STANDARD_LIMITS).validate(example)


@pytest.mark.parametrize("model", ["single", "several"])
def test_answers_fit_their_schemas(model: str, ask: Ask, answered: Callable[..., Answered]) -> None:
    plain = answered()
    full = answered(
        by_fallback=np.array([True, False]),
        fallback_note="so",
        explanations=[[{"piece": "a", "effect": 1.0}], {"text": [], "pair": [{"piece": "b", "effect": 0.5}]}],
        tokens=[1, 2],
    )

    for address, questions in GOOD.items():
        fits = answer_validator(address, multi_label=model == "several")
        for question in questions:
            asked = ask(READERS[address], question, model=model)
            for said in (plain, full):
                written = asked.write(said)
                length = written.headers.get("inference-header-content-length")
                fits.validate(json.loads(written.body[: None if length is None else int(length)]))


def answer_validator(address: str, *, multi_label: bool = False) -> Any:
    responses = operation(address, multi_label=multi_label)["responses"]
    return validator(responses["200"]["content"]["application/json"]["schema"])


def test_bodies_of_get_addresses_fit_their_schemas(models: dict[str, AskedModel]) -> None:
    model = models["single"]
    bodies = {
        "/info": info_body(model, limits=FEW, version="1", most_requests=8),
        "/v1/models": models_body([model], created=1),
        "/v2": server_body(version="1"),
        "/v2/health/live": live_body(),
        "/v2/health/ready": ready_body(ready=False),
        "/v2/models/{name}": model_body(model),
        "/v2/models/{name}/ready": model_ready_body("m", ready=True),
    }

    for address, body in bodies.items():
        answer_validator(address).validate(json.loads(body))
    assert set(bodies) | set(QUESTIONS) == set(BY_ADDRESS)


@pytest.mark.parametrize("address", QUESTIONS)
def test_refusals_fit_their_schemas(address: str) -> None:
    responses = operation(address)["responses"]

    for status, response in responses.items():
        if status != "200":
            body = refusal_body(address.replace("{name}", "m"), int(status), "so it is")
            validator(response["content"]["application/json"]["schema"]).validate(json.loads(body))
    assert set(responses) == {"200", "400", "404", "413", "415", "422"}


def test_every_answer_is_among_the_schemas() -> None:
    named = {name for names in BY_ADDRESS.values() for name in names}

    assert {*named, "MultiLabelPredictAnswer", "ScorePredictAnswer"} == {model.__name__ for model in ANSWERS}
    assert named <= set(components(FEW))


def test_the_tensors_that_may_be_asked_for_are_those_that_the_models_have() -> None:
    def outputs(**models: Any) -> list[str]:
        found = document(
            questions={}, facts={}, limits=FEW, title="a", multi_label=False, pair=False, keys=False, **models
        )
        question = found["components"]["schemas"]["InferQuestion"]["properties"]["outputs"]["anyOf"][0]
        names: list[str] = question["items"]["properties"]["name"]["enum"]
        return names

    of_classes = ["label", "probabilities", "logits"]
    assert outputs() == of_classes
    assert outputs(abstain=True) == [*of_classes, "score"]
    assert outputs(scores="some") == [*of_classes, "score"]
    assert outputs(scores="all") == ["score"]
