"""JSON of strangers: counted before it is parsed, so that time and memory are bounded by what a request may hold."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from limbeck.serving.limits import Limits
from limbeck.serving.wire.refusals import Refused

VALUES_PER_ROW = 10  # an object of two texts has nine: its bracket, four strings, two colons, two commas
MORE_VALUES = 1_000  # for everything else in a body
MARKS = ",:[{"
# A string, or what is left of the body if it never ends: every quotation mark is looked at once.
STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
MOST_CHARACTERS_OF_A_TYPE = 100
MOST_DIGITS = 19  # of a whole number that is read as one


def read_object(body: bytes, *, headers: Mapping[str, str], limits: Limits, form: str) -> dict[str, Any]:
    """The JSON object in a body. `form` is an example of a good one, for the refusal of anything else.

    Raises Refused: 415 for another content type, 400 for what is not JSON, 413 for too many values, 422 for no object.
    """
    refuse_other_types(headers)
    found = parsed(body, limits=limits)
    if not isinstance(found, dict):
        raise Refused(422, f"the body is not a question: send {form}")
    return found


def refuse_other_types(headers: Mapping[str, str]) -> None:
    """Raise Refused with 415 unless the header says JSON, which a page of another site cannot say without leave."""
    found = headers.get("content-type", "")
    name = found.partition(";")[0].strip().lower()
    if name != "application/json" and not (name.startswith("application/") and name.endswith("+json")):
        shown = found[:MOST_CHARACTERS_OF_A_TYPE] or "none"
        raise Refused(415, f"the content type is {shown}; send JSON, with the header 'content-type: application/json'")
    refuse_compressed(headers)


def refuse_compressed(headers: Mapping[str, str]) -> None:
    """Raise Refused with 415 for a compressed body: a few bytes may hold gigabytes."""
    found = headers.get("content-encoding", "").strip().lower()
    if found not in ("", "identity"):
        shown = found[:MOST_CHARACTERS_OF_A_TYPE]
        raise Refused(415, f"the body is compressed ({shown}); send it as it is, without 'content-encoding'")


def parsed(body: bytes, *, limits: Limits) -> Any:
    """The JSON in a body. Raises Refused."""
    text = _decoded(body)
    most = VALUES_PER_ROW * limits.rows + MORE_VALUES
    if _has_more_values(text, most):
        raise Refused(413, f"more than {most:,} values in one request; at most {limits.rows:,} rows are taken")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_number, object_pairs_hook=_object_of)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise Refused(400, f"the body is not JSON: {what} at character {error.pos:,}") from error
    except RecursionError as error:
        raise Refused(400, "the body is not JSON that is read here: its brackets are nested too deep") from error


def _decoded(body: bytes) -> str:
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError as error:
        raise Refused(
            400, f"the body is not JSON: it is not {error.encoding.upper()} at byte {error.start:,}"
        ) from error
    return text.removeprefix("\ufeff")


def _has_more_values(text: str, most: int) -> bool:
    """Whether there are more values than that; reading stops as soon as it is clear.

    Commas and brackets are counted everywhere first, which is enough for most bodies, then again outside of strings.
    """
    if sum(map(text.count, MARKS)) + text.count('"') <= most:
        return False
    count = end = 0
    for string in STRING.finditer(text):
        count += 1 + _marks(text, end, string.start())
        end = string.end()
        if count > most:
            return True
    return count + _marks(text, end, len(text)) > most


def _marks(text: str, start: int, end: int) -> int:
    return sum(text.count(mark, start, end) for mark in MARKS)


def _number(digits: str) -> int | float:
    """A whole number; a float if it is a long one, which for thousands of digits is a thousand times faster to read."""
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise Refused(400, f"the body is not JSON: {name} is not a number there")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object. A key that is given twice is refused: other programs may read the other value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused(422, f"the key '{_repeated(pairs)}' is given twice")
    return found


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    counts = Counter(key for key, _ in pairs)
    return next(key for key, count in counts.items() if count > 1)
