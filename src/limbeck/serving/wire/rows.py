"""Checks that all formats share: so many rows, so many characters, one text per row or two."""

from collections.abc import Mapping
from typing import Any

from limbeck.errors import did_you_mean
from limbeck.runtime.row import Row
from limbeck.serving.limits import Limits
from limbeck.serving.wire.questions import AskedModel
from limbeck.serving.wire.refusals import Faults, Refused

SINGLE_FORM = '{"texts": ["…"]}'
PAIR_FORM = '{"rows": [{"text": "…", "pair": "…"}]}'
NO_TEXT, NO_LIST = "Input should be a valid string", "Input should be a valid list"
MISSING, NO_FLAG = "Field required", "Input should be a valid boolean"


def refuse_too_many(count: int, limits: Limits) -> None:
    """Raise Refused with 413 if there are more rows than one request may have."""
    if count > limits.rows:
        raise Refused(413, f"{count:,} rows in one request; at most {limits.rows:,} are taken")


def refuse_too_long(text: str, place: str, limits: Limits) -> None:
    """Raise Refused with 413 if the text has more characters than it may have."""
    if len(text) > limits.characters:
        raise Refused(413, f"{place} has {len(text):,} characters; at most {limits.characters:,} are taken")


def checked_texts(values: list[Any], place: str, limits: Limits) -> list[str]:
    """The items of a list, all of them texts within the limits. Raises Refused."""
    refuse_too_many(len(values), limits)
    faults = Faults()
    for number, value in enumerate(values):
        if not isinstance(value, str):
            faults.note(f"{place}[{number}]", NO_TEXT)
    faults.refuse_any()
    for number, text in enumerate(values):
        refuse_too_long(text, f"{place}[{number}]", limits)
    return values


def refuse_other_kind(model: AskedModel, *, pair: bool, place: str) -> None:
    """Raise Refused with 422 for a pair where the model reads one text, or for one text where it reads two."""
    if pair and not model.pair:
        raise Refused(
            422, f"{place} has a second text, but this model reads one text per row: send one, as in {SINGLE_FORM}"
        )
    if model.pair and not pair:
        raise Refused(422, f"{place} has one text, and this model reads two texts per row: send two, as in {PAIR_FORM}")


def rows_of_inputs(inputs: Any, model: AskedModel, *, place: str, limits: Limits) -> tuple[list[Row], bool]:
    """The rows of a text, a pair or a list of such, and whether it was one row by itself.

    Two texts in a list are one pair for a model of pairs, and two rows for a model of single texts.
    """
    if isinstance(inputs, str | dict) or (model.pair and _is_pair(inputs)):
        return [_input(inputs, model, place=place, limits=limits)], True
    if not isinstance(inputs, list):
        raise Refused(422, f"{place}: Input should be a text or a list")
    refuse_too_many(len(inputs), limits)
    if not model.pair and all(isinstance(value, str) for value in inputs):
        return list(checked_texts(inputs, place, limits)), False
    return [_input(value, model, place=f"{place}[{at}]", limits=limits) for at, value in enumerate(inputs)], False


def _is_pair(inputs: Any) -> bool:
    return isinstance(inputs, list) and len(inputs) == 2 and all(isinstance(text, str) for text in inputs)


def _input(value: Any, model: AskedModel, *, place: str, limits: Limits) -> Row:
    texts = _texts_of(value)
    if not 1 <= len(texts) <= 2:
        raise Refused(422, f"{place}: Input should be a text or a list of two texts")
    for text in texts:
        if not isinstance(text, str):
            raise Refused(422, f"{place}: {NO_TEXT}")
        refuse_too_long(text, place, limits)
    refuse_other_kind(model, pair=len(texts) == 2, place=place)
    return texts[0] if len(texts) == 1 else (texts[0], texts[1])


def _texts_of(value: Any) -> list[Any]:
    """The texts of one row: a text, a list of one or two, or an object with `text` and `text_pair`."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return [value]
    second = value.get("text_pair")
    return [value.get("text")] if second is None else [value.get("text"), second]


def note_unknown_keys(found: Mapping[str, Any], known: tuple[str, ...], place: str, faults: Faults) -> None:
    """A fault for every other key."""
    for key in found:
        if key not in known:
            faults.note(f"{place}{key}", f"unknown key{did_you_mean(key, known)}")


def asked_name(found: Mapping[str, Any], name: str | None) -> str | None:
    """The model's name: the address's or else the body's. Raises Refused if they contradict each other."""
    asked = found.get("model")
    if asked is not None and not isinstance(asked, str):
        raise Refused(422, f"model: {NO_TEXT}")
    if name is not None and asked not in (None, name):
        raise Refused(404, "model: the address names another model")
    return asked if name is None else name


def flag(found: Mapping[str, Any], key: str) -> bool:
    """True or false; false if the key is missing or null. Raises Refused for anything else."""
    value = found.get(key)
    if value is not None and not isinstance(value, bool):
        raise Refused(422, f"{key}: {NO_FLAG}")
    return bool(value)


def whole(value: Any) -> int | None:
    """The number, if it is a whole one; JSON does not distinguish 2 from 2.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parameters_of(found: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """The object `parameters`; empty if it is missing or null. Raises Refused for anything else."""
    parameters = found.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        raise Refused(422, f"{place_of(place, 'parameters')}: Input should be an object")
    return parameters


def place_of(place: str, key: str) -> str:
    """`outputs[0].parameters`, or the key alone at the top."""
    return f"{place}.{key}" if place else key
