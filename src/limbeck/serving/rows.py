"""From a question to rows the model reads, or to a refusal that says which row is wrong and why."""

from collections.abc import Sequence
from typing import Any

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from limbeck.errors import did_you_mean, some
from limbeck.runtime.row import Row
from limbeck.serving.limits import Limits
from limbeck.serving.messages import Question, TextRow
from limbeck.text.readable import readable

PAIR_FORM = '{"rows": [{"text": "…", "pair": "…"}]}'
SINGLE_FORM = '{"texts": ["…"]}'
MOST_CHARACTERS_OF_A_REASON = 600


def rows_of(question: Question, *, pair: bool, limits: Limits) -> list[Row]:
    """The rows of the question. Refuses with 413 what is too much, with 422 what the model does not read."""
    if question.texts is not None and pair:
        raise HTTPException(422, f"this model reads two texts per row: send {PAIR_FORM}")
    asked: Sequence[str | TextRow] = question.texts if question.texts is not None else question.rows or []
    if len(asked) > limits.rows:
        raise HTTPException(413, f"{len(asked):,} rows in one request; at most {limits.rows:,} are taken")
    if question.texts is not None:
        return [_short_enough(text, f"texts[{number}]", limits) for number, text in enumerate(question.texts)]
    return [_row(row, f"rows[{number}]", pair=pair, limits=limits) for number, row in enumerate(question.rows or [])]


def _row(row: TextRow, place: str, *, pair: bool, limits: Limits) -> Row:
    text = _short_enough(row.text, f"{place}.text", limits)
    if pair and row.pair is None:
        raise HTTPException(422, f"{place} has no 'pair', and this model reads two texts per row: send {PAIR_FORM}")
    if not pair and row.pair is not None:
        raise HTTPException(422, f"{place} has a 'pair', but this model reads one text per row: send {SINGLE_FORM}")
    return text if row.pair is None else (text, _short_enough(row.pair, f"{place}.pair", limits))


def _short_enough(text: str, place: str, limits: Limits) -> str:
    if len(text) > limits.characters:
        raise HTTPException(413, f"{place} has {len(text):,} characters; at most {limits.characters:,} are taken")
    return text


async def refuse_malformed(request: Request, error: Exception) -> JSONResponse:
    """The answer to a body that is no question: one sentence, and nothing of the body but its keys."""
    assert isinstance(error, RequestValidationError)
    status, reason = _what_is_wrong(request, error)
    shown = readable(reason, most_characters=MOST_CHARACTERS_OF_A_REASON)  # a key can be long, or half a character
    return JSONResponse({"detail": shown}, status_code=status)


def _what_is_wrong(request: Request, error: RequestValidationError) -> tuple[int, str]:
    problems = error.errors()
    if isinstance(error.body, bytes):
        found = request.headers.get("content-type", "none")
        return 415, f"the content type is {found}; send JSON, with the header 'content-type: application/json'"
    if problems[0]["type"] == "json_invalid":
        return 400, f"the body is not JSON: {problems[0]['ctx']['error']} at character {problems[0]['loc'][-1]:,}"
    if not isinstance(error.body, dict):
        return 422, f"the body is not a question: send {SINGLE_FORM}"
    return 422, some([f"{_place(problem['loc'])}{_sentence(problem)}" for problem in problems])


def _place(steps: Sequence[str | int]) -> str:
    """`texts[3]: ` for ("body", "texts", 3)."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps[1:]).removeprefix(".")
    return f"{path}: " if path else ""


def _sentence(problem: dict[str, Any]) -> str:
    if problem["type"] == "extra_forbidden":
        known = Question if len(problem["loc"]) == 2 else TextRow
        return f"unknown key{did_you_mean(str(problem['loc'][-1]), list(known.model_fields))}"
    return str(problem["msg"]).removeprefix("Value error, ")
