"""Models as formats know them, and questions and answers without a server."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from limbeck.serving.limits import STANDARD_LIMITS, Limits
from limbeck.serving.wire.questions import Answered, AskedModel, ReadQuestion
from limbeck.serving.wire.refusals import Refused

JSON = {"content-type": "application/json"}
LABELS = ("bad", "fair", "good")
MODELS = {
    "single": AskedModel("single", LABELS, pair=False, multi_label=False, max_length=128, version="1f"),
    "pair": AskedModel("pair", LABELS, pair=True, multi_label=False, max_length=128, version=""),
    "several": AskedModel("several", LABELS, pair=False, multi_label=True, max_length=128, version="2a"),
}
Ask = Callable[..., ReadQuestion]


@pytest.fixture
def models() -> dict[str, AskedModel]:
    """A model of single texts, one of pairs, and one whose texts may have several labels."""
    return MODELS


@pytest.fixture
def ask() -> Ask:
    """ask(reader, body, model="single", headers=…, limits=…, name=None): what is read from a body or from bytes."""

    def asked(
        reader: Any,
        body: Any,
        *,
        model: str = "single",
        headers: Mapping[str, str] = JSON,
        limits: Limits = STANDARD_LIMITS,
        name: str | None = None,
    ) -> ReadQuestion:
        def choose(wanted: str | None) -> AskedModel:
            if wanted not in (None, *MODELS):
                raise Refused(404, f"there is no model '{wanted}'")
            return MODELS[wanted or model]

        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        found: ReadQuestion = reader(data, headers=headers, choose=choose, limits=limits, name=name)
        return found

    return asked


@pytest.fixture
def refusal(ask: Ask) -> Callable[..., tuple[int, str]]:
    """refusal(reader, body, …): status and sentence of a question that is refused."""

    def refused(*args: Any, **options: Any) -> tuple[int, str]:
        with pytest.raises(Refused) as caught:
            ask(*args, **options)
        return caught.value.status, caught.value.detail

    return refused


@pytest.fixture
def answered() -> Callable[..., Answered]:
    """answered(rows=2, …): the model is sure of "good" in the first row, and of "bad" in every other."""

    def made(rows: int = 2, **others: Any) -> Answered:
        numbers = [[0.1, 0.2, 0.7], *[[0.6, 0.3, 0.1]] * (rows - 1)][:rows]
        probabilities = np.array(numbers, dtype=np.float32).reshape(rows, 3)
        return Answered(probabilities=probabilities, milliseconds=1.23456, **others)

    return made
