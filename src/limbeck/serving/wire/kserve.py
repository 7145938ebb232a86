"""KServe's format, the Open Inference Protocol v2 with binary data: POST /v2/models/NAME/infer, and the metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pydantic_core import to_json

from limbeck.runtime.probabilities import label_sets
from limbeck.runtime.row import Row
from limbeck.serving.limits import Limits
from limbeck.serving.wire.json_body import parsed, refuse_compressed
from limbeck.serving.wire.questions import JSON_TYPE, Answered, AskedModel, Choose, ReadQuestion, Written, logits_of
from limbeck.serving.wire.refusals import Refused
from limbeck.serving.wire.rows import NO_FLAG, NO_LIST, NO_TEXT, parameters_of, place_of
from limbeck.serving.wire.tensors import HEADER, BinaryData, TextTensor, floats_output, text_tensor, texts_output
from limbeck.tasks import SCORE
from limbeck.text.readable import readable

BINARY_TYPE = "application/octet-stream"
MOST_DIGITS = 19  # of that length
LABEL, PROBABILITIES, LOGITS = "label", "probabilities", "logits"
OUTPUTS = (LABEL, PROBABILITIES, LOGITS)
MOST_INPUTS = 2
MOST_CHARACTERS_OF_AN_ID = 1_000
FORM = '{"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["…"]}]}'


@dataclass(frozen=True)
class WantedOutput:
    """An output that is asked for."""

    name: str
    binary: bool


def read_infer(
    body: bytes, *, headers: Mapping[str, str], choose: Choose, limits: Limits, name: str | None = None
) -> ReadQuestion:
    """A question as clients of KServe and Triton send it: one tensor of texts, or two for a model of pairs."""
    _refuse_other_types(headers)
    head, binary = _parts(body, headers)
    found = parsed(head, limits=limits)
    if not isinstance(found, dict):
        raise Refused(422, f"the body is not a question: send {FORM}")
    model = choose(name)
    tensors = _tensors(found, binary=binary, limits=limits)
    rows, outputs, asked_id = _rows(tensors, model), _outputs(found, model), _id(found)
    write = partial(_written, model, outputs=outputs, asked_id=asked_id)
    return ReadQuestion(model=model, rows=rows, write=write)


def _refuse_other_types(headers: Mapping[str, str]) -> None:
    """Raise Refused with 415 for what a page of another site could send without being asked.

    Triton's client names no type at all. Neither does a page that sends a Blob, but a browser names its origin.
    """
    found = headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in ("", JSON_TYPE, BINARY_TYPE) or (not found and "origin" in headers):
        raise Refused(415, f"the content type is {found[:100] or 'missing'}; send {JSON_TYPE} or {BINARY_TYPE}")
    refuse_compressed(headers)


def _parts(body: bytes, headers: Mapping[str, str]) -> tuple[bytes, BinaryData]:
    """The JSON, and the binary data after it."""
    length = headers.get(HEADER)
    if length is None:
        return body, BinaryData(None)
    if not (length.isascii() and length.isdecimal() and len(length) < MOST_DIGITS and int(length) <= len(body)):
        raise Refused(400, f"the header '{HEADER}' is not the length of the JSON in bytes")
    return body[: int(length)], BinaryData(body[int(length) :])


def _tensors(found: dict[str, Any], *, binary: BinaryData, limits: Limits) -> list[TextTensor]:
    inputs = found.get("inputs")
    if not isinstance(inputs, list):
        raise Refused(422, f"inputs: {NO_LIST}")
    if not 1 <= len(inputs) <= MOST_INPUTS:
        raise Refused(422, f"inputs: there are {len(inputs):,}; send one tensor of texts or, for pairs, two")
    tensors = [
        text_tensor(tensor, place=f"inputs[{number}]", binary=binary, limits=limits)
        for number, tensor in enumerate(inputs)
    ]
    if binary.left:
        raise Refused(422, f"{binary.left:,} bytes after the JSON belong to no tensor")
    return tensors


def _rows(tensors: list[TextTensor], model: AskedModel) -> list[Row]:
    widths = sum(tensor.shape[1] if len(tensor.shape) > 1 else 1 for tensor in tensors)
    if not model.pair:
        if widths != 1:
            raise Refused(422, "inputs: this model reads one text per row: send one tensor of the shape [rows]")
        return list(tensors[0].texts)
    if widths != 2:
        raise Refused(
            422,
            "inputs: this model reads two texts per row: send the tensors 'text' and 'pair', or one of [rows, 2]",
        )
    if len(tensors) == 1:
        texts = tensors[0].texts
        return list(zip(texts[::2], texts[1::2], strict=True))
    return _pairs({tensor.name: tensor for tensor in tensors})


def _pairs(tensors: dict[str, TextTensor]) -> list[Row]:
    if set(tensors) != {"text", "pair"}:
        raise Refused(422, "inputs: the two tensors of a model of pairs are called 'text' and 'pair'")
    texts, pairs = tensors["text"].texts, tensors["pair"].texts
    if len(texts) != len(pairs):
        raise Refused(422, f"inputs: 'text' has {len(texts):,} rows, but 'pair' has {len(pairs):,}")
    return list(zip(texts, pairs, strict=True))


def _outputs(found: dict[str, Any], model: AskedModel) -> list[WantedOutput]:
    """The outputs that are asked for: labels and probabilities, and of a model that abstains how sure it is, unless the
    request names others. Of a model of scores the score."""
    binary = _flag(found, "binary_data_output", "", default=False)
    asked = found.get("outputs")
    if not isinstance(asked, list | None):
        raise Refused(422, f"outputs: {NO_LIST}")
    if not asked and model.scale is not None:
        return [WantedOutput(SCORE, binary)]
    if not asked:
        names = (LABEL, PROBABILITIES, SCORE) if model.abstains else (LABEL, PROBABILITIES)
        return [WantedOutput(name, binary) for name in names]
    wanted = [_wanted(output, f"outputs[{number}]", model, binary=binary) for number, output in enumerate(asked)]
    if len({output.name for output in wanted}) < len(wanted):
        raise Refused(422, "outputs: one is named twice")
    return wanted


def _wanted(output: Any, place: str, model: AskedModel, *, binary: bool) -> WantedOutput:
    name = output.get("name") if isinstance(output, dict) else None
    if model.scale is not None and name != SCORE:
        raise Refused(422, f"{place}.name: this model gives a score, not classes: its output is '{SCORE}'")
    if model.scale is None and name == SCORE and not model.abstains:
        raise Refused(422, f"{place}.name: this model always gives a label, so there is no '{SCORE}'")
    if name not in (*OUTPUTS, SCORE):
        raise Refused(422, f"{place}.name: the outputs are '{LABEL}', '{PROBABILITIES}' and '{LOGITS}'")
    wanted = WantedOutput(name, _flag(output, "binary_data", place, default=binary))
    if "classification" in parameters_of(output, place):
        raise Refused(422, f"{place}.parameters.classification: not taken; sort the '{PROBABILITIES}'")
    return wanted


def _flag(found: dict[str, Any], key: str, place: str, *, default: bool) -> bool:
    value = parameters_of(found, place).get(key, default)
    if not isinstance(value, bool):
        raise Refused(422, f"{place_of(place, 'parameters')}.{key}: {NO_FLAG}")
    return value


def _id(found: dict[str, Any]) -> str | None:
    asked = found.get("id")
    if asked is None:
        return None
    if not isinstance(asked, str):
        raise Refused(422, f"id: {NO_TEXT}")
    if len(asked) > MOST_CHARACTERS_OF_AN_ID:
        raise Refused(413, f"id has {len(asked):,} characters; at most {MOST_CHARACTERS_OF_AN_ID:,} are taken")
    return readable(asked, most_characters=MOST_CHARACTERS_OF_AN_ID)


def _written(model: AskedModel, answered: Answered, *, outputs: list[WantedOutput], asked_id: str | None) -> Written:
    tensors = [_tensor(output, model, answered) for output in outputs]
    answer: dict[str, Any] = {"model_name": model.name}
    if model.version:
        answer["model_version"] = model.version
    if asked_id is not None:
        answer["id"] = asked_id
    if answered.by_fallback is not None:
        answer["parameters"] = {"answered_by_fallback": int(np.count_nonzero(answered.by_fallback))}
    head = to_json(answer | {"outputs": [described for described, _ in tensors]})
    if not any(output.binary for output in outputs):
        return Written(head)
    body = b"".join([head, *(data for _, data in tensors)])
    return Written(body, media_type=BINARY_TYPE, headers={HEADER: str(len(head))})


def _tensor(output: WantedOutput, model: AskedModel, answered: Answered) -> tuple[dict[str, Any], bytes]:
    if output.name == SCORE and model.scale is not None:
        return floats_output(SCORE, answered.probabilities, binary=output.binary)
    if output.name == PROBABILITIES:
        return floats_output(PROBABILITIES, answered.probabilities, binary=output.binary)
    if output.name == LOGITS:
        return floats_output(LOGITS, logits_of(answered, model), binary=output.binary)
    if output.name == SCORE:
        scores = answered.scored.scores if answered.scored else np.zeros(0)
        return floats_output(SCORE, scores.astype(np.float32), binary=output.binary)
    return texts_output(LABEL, _labels(model, answered), binary=output.binary)


def _labels(model: AskedModel, answered: Answered) -> list[str]:
    """One text per row, empty where no label is given: a tensor of BYTES has no null. The labels of a multi-label model
    are a JSON list: a label may contain any other separator."""
    if model.multi_label:
        return [to_json(labels).decode() for labels in label_sets(answered.probabilities, model.labels)]
    return [label or "" for label in answered.labels(model)]


def server_body(*, version: str) -> bytes:
    """GET /v2."""
    return to_json({"name": "limbeck", "version": version, "extensions": ["binary_tensor_data"]})


def model_body(model: AskedModel) -> bytes:
    """GET /v2/models/NAME. The protocol has no place for the order of the labels: it is a parameter of the output."""
    names = ["text", "pair"] if model.pair else ["text"]
    classes = len(model.labels)
    outputs: list[dict[str, Any]] = [
        {"name": LABEL, "datatype": "BYTES", "shape": [-1]},
        {
            "name": PROBABILITIES,
            "datatype": "FP32",
            "shape": [-1, classes],
            "parameters": {"labels": model.labels, "multi_label": model.multi_label},
        },
    ]
    if model.abstains:
        outputs.append({"name": SCORE, "datatype": "FP32", "shape": [-1]})
    if model.scale is not None:
        outputs = [{"name": SCORE, "datatype": "FP32", "shape": [-1, 1]}]
    inputs = [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in names]
    return to_json({"name": model.name, "platform": "limbeck", "inputs": inputs, "outputs": outputs})


def model_ready_body(name: str, *, ready: bool) -> bytes:
    """GET /v2/models/NAME/ready."""
    return to_json({"name": name, "ready": ready})


def live_body(*, live: bool = True) -> bytes:
    """GET /v2/health/live."""
    return to_json({"live": live})


def ready_body(*, ready: bool) -> bytes:
    """GET /v2/health/ready."""
    return to_json({"ready": ready})
