"""Hugging Face's formats: the Inference API at POST /, and TEI's at POST /predict and GET /info."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from pydantic_core import to_json

from limbeck.runtime.abstaining import Scored
from limbeck.runtime.probabilities import sigmoid, softmax
from limbeck.serving.limits import Limits
from limbeck.serving.wire.json_body import read_object
from limbeck.serving.wire.questions import Answered, AskedModel, Choose, Floats, ReadQuestion, Written, logits_of
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.wire.rows import MISSING, asked_name, flag, parameters_of, rows_of_inputs, whole

INPUTS_FORM = '{"inputs": "…"}'
MOST_LABELS = 1 << 31  # of a model; numpy takes no larger number as the end of a slice
FUNCTIONS = ("softmax", "sigmoid", "none")


def read_hugging_face(
    body: bytes, *, headers: Mapping[str, str], choose: Choose, limits: Limits, name: str | None = None
) -> ReadQuestion:
    """A question as `InferenceClient.text_classification` sends it; the answer is a list of lists even for one text.

    Keys of the body and of `parameters` that are not known are ignored, as there.
    """
    found = read_object(body, headers=headers, limits=limits, form=INPUTS_FORM)
    _refuse_without_inputs(found)
    parameters = parameters_of(found)
    top_k, function = _top_k(parameters), _function(parameters)
    model = choose(asked_name(found, name))
    _refuse_function_of_scores(function, model)
    rows, _ = rows_of_inputs(found["inputs"], model, place="inputs", limits=limits)
    write = partial(_written, model, function=function, top_k=top_k, alone=False)
    return ReadQuestion(model=model, rows=rows, write=write)


def tei_question(found: dict[str, Any], *, choose: Choose, limits: Limits, name: str | None) -> ReadQuestion:
    """A question as clients of TEI send it. One row by itself is answered with a list, a list with a list of lists.

    Unknown keys are ignored, as there. A text is always cut at its end: `truncate` changes nothing, and a cut at the
    start, which would give another answer, is refused.
    """
    _refuse_without_inputs(found)
    raw_scores, _ = flag(found, "raw_scores"), flag(found, "truncate")
    side = found.get("truncation_direction")
    if side not in (None, "Right", "right"):
        raise Refused(422, "truncation_direction: texts are cut at their end here, only 'Right' is taken")
    model = choose(asked_name(found, name))
    rows, alone = rows_of_inputs(found["inputs"], model, place="inputs", limits=limits)
    function = "none" if raw_scores else None
    write = partial(_written, model, function=function, top_k=None, alone=alone)
    return ReadQuestion(model=model, rows=rows, write=write)


def info_body(model: AskedModel, *, limits: Limits, version: str, most_requests: int, dtype: str = "float32") -> bytes:
    """TEI's GET /info. `most_requests` is how many are in progress or waiting at most."""
    numbered = dict(enumerate(model.labels))
    return to_json(
        {
            "model_id": model.name,
            "model_sha": model.version or None,
            "model_dtype": dtype,
            "model_type": {
                "classifier": {
                    "id2label": {str(number): label for number, label in numbered.items()},
                    "label2id": {label: number for number, label in numbered.items()},
                }
            },
            "max_concurrent_requests": most_requests,
            "max_input_length": model.max_length,
            "max_batch_tokens": model.max_length * limits.rows,
            "max_batch_requests": None,
            "max_client_batch_size": limits.rows,
            "auto_truncate": True,
            "tokenization_workers": 1,
            "version": version,
            "sha": None,
            "docker_label": None,
        }
    )


def _refuse_without_inputs(found: dict[str, Any]) -> None:
    if "inputs" not in found:
        raise Refused(422, f"inputs: {MISSING}")


def _top_k(parameters: dict[str, Any]) -> int | None:
    if parameters.get("top_k") is None:
        return None
    count = whole(parameters["top_k"])
    if count is None or count < 1:
        raise Refused(422, "parameters.top_k: Input should be a whole number of 1 or more")
    return min(count, MOST_LABELS)


def _function(parameters: dict[str, Any]) -> str | None:
    function: str | None = parameters.get("function_to_apply")
    if function not in (None, *FUNCTIONS):
        raise Refused(422, "parameters.function_to_apply: Input should be 'softmax', 'sigmoid' or 'none'")
    return function


def _refuse_function_of_scores(function: str | None, model: AskedModel) -> None:
    if model.scale is not None and function not in (None, "none"):
        raise Refused(
            422, f"parameters.function_to_apply: this model gives a score, not classes; leave '{function}' out"
        )


def _is_own(function: str | None, model: AskedModel) -> bool:
    return function in (None, "sigmoid" if model.multi_label else "softmax")


def _scores(model: AskedModel, answered: Answered, function: str | None) -> Floats:
    """Calibrated probabilities, unless another function of the logits is asked for."""
    if _is_own(function, model) or model.scale is not None:  # also what TEI calls raw scores
        return answered.probabilities
    logits = logits_of(answered, model)
    if function == "none":
        return logits
    return softmax(logits) if function == "softmax" else sigmoid(logits)


def _written(model: AskedModel, answered: Answered, *, function: str | None, top_k: int | None, alone: bool) -> Written:
    scores = _scores(model, answered, function)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
    sorted_scores = np.take_along_axis(scores, order, axis=1).tolist()
    lists = [
        [{"label": model.labels[number], "score": score} for number, score in zip(*of_row, strict=True)]
        for of_row in zip(order.tolist(), sorted_scores, strict=True)
    ]
    if answered.scored is not None:
        _put_first(lists, answered.scored)
    return Written(to_json(lists[0] if alone else lists))


def _put_first(lists: list[list[dict[str, Any]]], found: Scored) -> None:
    """Where no label is given, the first entry says so, for clients that read only the first: null, or the answer in
    its place, with the score. All labels follow as ever."""
    for place in np.flatnonzero(found.withheld).tolist():
        lists[place].insert(0, {"label": found.answer, "score": float(found.scores[place])})
