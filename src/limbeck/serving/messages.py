"""Requests and responses of the HTTP API, as the OpenAPI page shows them."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from limbeck.errors import did_you_mean, some
from limbeck.runtime.row import Row
from limbeck.serving.limits import Limits
from limbeck.text.readable import readable

Milliseconds = Annotated[
    float, Field(description="Time the model took, from text to probabilities, without the network.")
]


class Strict(BaseModel):
    """A request with an unknown key is refused."""

    model_config = ConfigDict(extra="forbid")


class TextRow(Strict):
    """One row to classify."""

    text: str
    pair: str | None = Field(default=None, description="The second text, for models of pairs and only for them.")


class Question(Strict):
    """Texts to classify; for a model of pairs, rows."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["a gorgeous, witty film"]}]})

    texts: list[str] | None = Field(default=None, description="Texts, for models that read one text per row.")
    rows: list[TextRow] | None = Field(default=None, description="Rows of a text and, for models of pairs, a second.")

    @model_validator(mode="after")
    def _either_texts_or_rows(self) -> "Question":
        if (self.texts is None) == (self.rows is None):
            raise ValueError("give either 'texts' or 'rows'")
        return self


class Prediction(BaseModel):
    """The model's prediction for one row."""

    label: str = Field(description="The most probable label.")
    probabilities: dict[str, float] = Field(description="The probability of each label; they sum to 1.")


class MultiLabelPrediction(BaseModel):
    """The model's prediction for one row that may have several labels, or none."""

    labels: list[str] = Field(description="Every label with a probability of 0.5 or more; possibly none.")
    probabilities: dict[str, float] = Field(description="The probability of each label, independent of the others.")


class Answer(BaseModel):
    """The predictions for all rows, in the order of the request."""

    predictions: list[Prediction]
    milliseconds: Milliseconds


class MultiLabelAnswer(BaseModel):
    """The predictions for all rows of a multi-label model, in the order of the request."""

    predictions: list[MultiLabelPrediction]
    milliseconds: Milliseconds


class Health(BaseModel):
    """Whether the server can answer, and with which model."""

    ready: bool
    model: str = Field(description="Name of the model.")
    version: str = Field(description="Version of Limbeck.")


class Model(BaseModel):
    """Facts about the model, and the limits of one request."""

    name: str
    kind: str
    precision: str
    labels: list[str]
    language: str
    pair: bool = Field(description="Whether a row is a pair of texts.")
    multi_label: bool = Field(description="Whether a row may have several labels, or none.")
    max_length: int = Field(description="Tokens of a text that are read; the rest is cut off.")
    parameters: int
    parameters_without_embeddings: int
    engine: str = Field(description="What runs the network: onnxruntime, or native code for this kind of processor.")
    size_mb: float = Field(description="The model's files, in millions of bytes.")
    max_rows: int = Field(description="Rows that one request may have.")
    max_characters: int = Field(description="Characters that one text may have.")


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str


PAIR_FORM = '{"rows": [{"text": "…", "pair": "…"}]}'
SINGLE_FORM = '{"texts": ["…"]}'
MOST_CHARACTERS_OF_A_REASON = 600


def rows_of(question: Question, *, pair: bool, limits: Limits) -> list[Row]:
    """The rows of the request. Refuses with 413 what exceeds the limits, with 422 what the model cannot read."""
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
    """The response to a malformed body: one sentence, which shows nothing of the body but its keys."""
    assert isinstance(error, RequestValidationError)
    status, reason = _what_is_wrong(request, error)
    shown = readable(
        reason, most_characters=MOST_CHARACTERS_OF_A_REASON
    )  # a key can be long, or have half a surrogate pair
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
