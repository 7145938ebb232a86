"""How each format says that a model gives no label."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from limbeck.runtime.abstaining import Scored
from limbeck.serving.wire import kserve
from limbeck.serving.wire.hugging_face import read_hugging_face
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import Answered, AskedModel
from limbeck.serving.wire.vllm import read_classify

Ask = Callable[..., Any]
INFER = {"inputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]}]}


@pytest.fixture
def wary(models: dict[str, AskedModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of single texts may abstain."""
    monkeypatch.setitem(models, "single", replace(models["single"], abstains=True))


def said(answered: Callable[..., Answered], answer: str | None) -> Answered:
    """The first row is sure enough, the second is not."""
    return replace(answered(), scored=Scored(np.array([0.7, 0.4]), np.array([False, True]), answer))


@pytest.mark.usefixtures("wary")
@pytest.mark.parametrize("answer", [None, "something else"])
def test_every_format_says_that_there_is_no_label(
    ask: Ask, answered: Callable[..., Answered], answer: str | None
) -> None:
    found = said(answered, answer)

    own = json.loads(ask(read_predict, {"texts": ["a", "b"]}).write(found).body)["predictions"]
    assert [(one["label"], one["score"]) for one in own] == [("good", 0.7), (answer, 0.4)]
    assert own[1]["probabilities"]["bad"] == 0.6

    vllm = json.loads(ask(read_classify, {"input": ["a", "b"]}).write(found).body)["data"]
    assert [(one["label"], one["score"]) for one in vllm] == [("good", 0.7), (answer, 0.4)]

    lists = json.loads(ask(read_hugging_face, {"inputs": ["a", "b"]}).write(found).body)
    assert [one["label"] for one in lists[0]] == ["good", "fair", "bad"]
    assert lists[1][0] == {"label": answer, "score": 0.4}
    assert [one["label"] for one in lists[1][1:]] == ["bad", "fair", "good"]

    tensors = json.loads(ask(kserve.read_infer, INFER).write(found).body)["outputs"]
    by_name = {one["name"]: one for one in tensors}
    assert by_name["label"]["data"] == ["good", answer or ""]
    assert by_name["score"]["data"] == pytest.approx([0.7, 0.4])
    assert by_name["score"]["shape"] == [2]


@pytest.mark.usefixtures("wary")
def test_the_metadata_of_kserve_names_the_score(models: dict[str, AskedModel]) -> None:
    outputs = json.loads(kserve.model_body(models["single"]))["outputs"]

    assert [one["name"] for one in outputs] == ["label", "probabilities", "score"]


def test_a_model_that_always_answers_has_no_score(refusal: Callable[..., tuple[int, str]]) -> None:
    status, sentence = refusal(kserve.read_infer, {**INFER, "outputs": [{"name": "score"}]})

    assert status == 422
    assert "always gives a label" in sentence
