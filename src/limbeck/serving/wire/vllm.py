"""vLLM's format at POST /v1/classify (also /classify), and the list of models at GET /v1/models."""

import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from pydantic_core import to_json

from limbeck.serving.limits import Limits
from limbeck.serving.wire.json_body import read_object
from limbeck.serving.wire.questions import Answered, AskedModel, Choose, ReadQuestion, Written, logits_of
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.wire.rows import MISSING, NO_FLAG, asked_name, rows_of_inputs

INPUT_FORM = '{"input": ["…"]}'
ID = re.compile(r"[\w.-]{1,100}", re.ASCII)


def read_classify(
    body: bytes, *, headers: Mapping[str, str], choose: Choose, limits: Limits, name: str | None = None
) -> ReadQuestion:
    """A question as clients of vLLM send it. Unknown keys are ignored, as there.

    `use_activation = false` gives logits in the place of probabilities. Token numbers and chat messages are refused.
    A model of pairs takes `[["text", "pair"], …]`, which vLLM does not have.
    """
    found = read_object(body, headers=headers, limits=limits, form=INPUT_FORM)
    if "input" not in found:
        raise Refused(422, f"input: {MISSING}")
    use_activation = found.get("use_activation")
    if not isinstance(use_activation, bool | None):
        raise Refused(422, f"use_activation: {NO_FLAG}")
    model = choose(asked_name(found, name))
    if model.scale is not None:
        raise Refused(422, "this model gives a score, not classes: ask at /predict")
    rows, _ = rows_of_inputs(found["input"], model, place="input", limits=limits)
    raw = use_activation is False
    write = partial(_written, model, request=_id(headers), created=int(time.time()), raw=raw)
    return ReadQuestion(model=model, rows=rows, write=write, needs_tokens=True)


def models_body(models: Sequence[AskedModel], *, created: int) -> bytes:
    """The list of models, the default one first. `created` is when they were loaded, in seconds since 1970."""
    cards: list[dict[str, Any]] = [
        {
            "id": model.name,
            "object": "model",
            "created": created,
            "owned_by": "limbeck",
            "root": model.name,
            "parent": None,
            "max_model_len": model.max_length,
            "permission": [],
        }
        for model in models
    ]
    return to_json({"object": "list", "data": cards})


def _id(headers: Mapping[str, str]) -> str:
    """The client's own id of the request, if it is a plain one."""
    given = headers.get("x-request-id", "")
    return f"classify-{given if ID.fullmatch(given) else uuid4().hex}"


def _written(model: AskedModel, answered: Answered, *, request: str, created: int, raw: bool) -> Written:
    values = logits_of(answered, model) if raw else answered.probabilities
    labels = answered.labels(model)
    items: list[dict[str, Any]] = [
        {"index": index, "label": label, "probs": probs, "num_classes": len(model.labels)}
        for index, (label, probs) in enumerate(zip(labels, values.tolist(), strict=True))
    ]
    if answered.scored is not None:
        for item, score in zip(items, answered.scored.scores.tolist(), strict=True):
            item["score"] = score
    if answered.by_fallback is not None:
        for item, by_fallback in zip(items, answered.by_fallback.tolist(), strict=True):
            item["answered_by"] = "fallback" if by_fallback else "student"
    count = sum(answered.tokens or [])
    usage = {"prompt_tokens": count, "total_tokens": count, "completion_tokens": 0, "prompt_tokens_details": None}
    answer = {"id": request, "object": "list", "created": created, "model": model.name, "data": items, "usage": usage}
    return Written(to_json(answer))
