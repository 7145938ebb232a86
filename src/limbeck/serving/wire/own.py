"""Our own format at POST /predict and POST /models/NAME/predict; a body with `inputs` is read as TEI's."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from pydantic_core import to_json

from limbeck.runtime.probabilities import label_sets
from limbeck.runtime.row import Row
from limbeck.serving.limits import Limits
from limbeck.serving.wire.hugging_face import tei_question
from limbeck.serving.wire.json_body import read_object
from limbeck.serving.wire.questions import Answered, AskedModel, Choose, Floats, ReadQuestion, Written
from limbeck.serving.wire.refusals import Faults, Refused
from limbeck.serving.wire.rows import (
    MISSING,
    NO_FLAG,
    NO_LIST,
    NO_TEXT,
    PAIR_FORM,
    SINGLE_FORM,
    asked_name,
    checked_texts,
    note_unknown_keys,
    refuse_too_long,
    refuse_too_many,
)

DIGITS = 6  # of a probability, as in the files that `limbeck predict` writes
KEYS = ("texts", "rows", "model", "explain")
KEYS_OF_A_ROW = ("text", "pair")


def read_predict(
    body: bytes, *, headers: Mapping[str, str], choose: Choose, limits: Limits, name: str | None = None
) -> ReadQuestion:
    """A question in our own format or, if it has `inputs`, in TEI's."""
    found = read_object(body, headers=headers, limits=limits, form=SINGLE_FORM)
    if "inputs" in found and not ("texts" in found or "rows" in found):
        return tei_question(found, choose=choose, limits=limits, name=name)
    _refuse_malformed(found)
    explain = bool(found.get("explain"))
    model = choose(asked_name(found, name))
    rows = _rows(found, model, limits)
    return ReadQuestion(model=model, rows=rows, explain=explain, write=partial(_written, model))


def _refuse_malformed(found: dict[str, Any]) -> None:
    faults = Faults()
    note_unknown_keys(found, KEYS, "", faults)
    for key in ("texts", "rows"):
        if not isinstance(found.get(key), list | None):
            faults.note(key, NO_LIST)
    if not isinstance(found.get("explain", False), bool):
        faults.note("explain", NO_FLAG)
    faults.refuse_any()
    if (found.get("texts") is None) == (found.get("rows") is None):
        raise Refused(422, "give either 'texts' or 'rows'")


def _rows(found: dict[str, Any], model: AskedModel, limits: Limits) -> list[Row]:
    texts, rows = found.get("texts"), found.get("rows") or []
    if texts is not None and model.pair:
        raise Refused(422, f"this model reads two texts per row: send {PAIR_FORM}")
    if texts is not None:
        return list(checked_texts(texts, "texts", limits))
    refuse_too_many(len(rows), limits)
    faults = Faults()
    for number, row in enumerate(rows):
        _note_faults_of_row(row, f"rows[{number}]", faults)
    faults.refuse_any()
    return [_row(row, f"rows[{number}]", model, limits) for number, row in enumerate(rows)]


def _note_faults_of_row(row: Any, place: str, faults: Faults) -> None:
    if not isinstance(row, dict):
        faults.note(place, "Input should be an object with the key 'text'")
        return
    note_unknown_keys(row, KEYS_OF_A_ROW, f"{place}.", faults)
    if "text" not in row:
        faults.note(f"{place}.text", MISSING)
    elif not isinstance(row["text"], str):
        faults.note(f"{place}.text", NO_TEXT)
    if not isinstance(row.get("pair"), str | None):
        faults.note(f"{place}.pair", NO_TEXT)


def _row(row: dict[str, Any], place: str, model: AskedModel, limits: Limits) -> Row:
    text, pair = row["text"], row.get("pair")
    refuse_too_long(text, f"{place}.text", limits)
    if model.pair and pair is None:
        raise Refused(422, f"{place} has no 'pair', and this model reads two texts per row: send {PAIR_FORM}")
    if not model.pair and pair is not None:
        raise Refused(422, f"{place} has a 'pair', but this model reads one text per row: send {SINGLE_FORM}")
    if pair is None:
        return str(text)
    refuse_too_long(pair, f"{place}.pair", limits)
    return text, pair


def _written(model: AskedModel, answered: Answered) -> Written:
    """The answer. Optional keys are there only where they say something, so that old clients see what they know."""
    predictions = _predictions(model, answered)
    if answered.by_fallback is not None:
        for prediction, by_fallback in zip(predictions, answered.by_fallback.tolist(), strict=True):
            prediction["answered_by"] = "fallback" if by_fallback else "student"
    if answered.explanations is not None:
        for prediction, pieces in zip(predictions, answered.explanations, strict=True):
            prediction["explanation"] = pieces
    answer = {"predictions": predictions, "milliseconds": round(answered.milliseconds, 3)}
    if answered.fallback_note is not None:
        answer["note"] = answered.fallback_note
    return Written(to_json(answer))


def _predictions(model: AskedModel, answered: Answered) -> list[dict[str, Any]]:
    probabilities: Floats = answered.probabilities
    # Rounded as floats of 64 bits, in which the product with 10^6 is exact: the same digits as `round` gives.
    rounded = np.round(probabilities.astype(np.float64), DIGITS).tolist()
    if model.scale is not None:
        return [{"score": score} for (score,) in rounded]
    by_label = [dict(zip(model.labels, row, strict=True)) for row in rounded]
    if model.multi_label:
        sets = zip(label_sets(probabilities, model.labels), by_label, strict=True)
        return [{"labels": labels, "probabilities": of_row} for labels, of_row in sets]
    best = zip(answered.labels(model), by_label, strict=True)
    found: list[dict[str, Any]] = [{"label": label, "probabilities": of_row} for label, of_row in best]
    if answered.scored is not None:
        for prediction, score in zip(found, np.round(answered.scored.scores, DIGITS).tolist(), strict=True):
            prediction["score"] = score
    return found
