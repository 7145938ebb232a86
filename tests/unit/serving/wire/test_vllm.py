import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limbeck.serving.limits import Limits
from limbeck.serving.wire.questions import Answered, AskedModel
from limbeck.serving.wire.vllm import models_body, read_classify

Ask = Callable[..., Any]
Refusal = Callable[..., tuple[int, str]]


def test_the_answer_has_the_keys_of_vllm(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_classify, b'{"model": "single", "input": ["a", "b"]}')

    answer = json.loads(asked.write(answered(tokens=[3, 4])).body)

    assert asked.rows == ["a", "b"]
    assert asked.needs_tokens
    assert list(answer) == ["id", "object", "created", "model", "data", "usage"]
    assert answer["id"].startswith("classify-")
    assert (answer["object"], answer["model"]) == ("list", "single")
    assert [(item["index"], item["label"], item["num_classes"]) for item in answer["data"]] == [
        (0, "good", 3),
        (1, "bad", 3),
    ]
    assert answer["data"][0]["probs"] == pytest.approx([0.1, 0.2, 0.7])
    usage = {"prompt_tokens": 7, "total_tokens": 7, "completion_tokens": 0, "prompt_tokens_details": None}
    assert answer["usage"] == usage


def test_a_text_by_itself_is_one_row(ask: Ask, answered: Callable[..., Answered]) -> None:
    answer = json.loads(ask(read_classify, {"input": "a"}).write(answered(1)).body)

    assert len(answer["data"]) == 1
    assert answer["usage"]["total_tokens"] == 0


def test_no_rows_get_no_answers(ask: Ask, answered: Callable[..., Answered]) -> None:
    assert json.loads(ask(read_classify, {"input": []}).write(answered(0)).body)["data"] == []


def test_two_texts_are_two_rows_or_one_pair(ask: Ask) -> None:
    assert ask(read_classify, {"input": ["a", "b"]}).rows == ["a", "b"]
    assert ask(read_classify, {"input": ["a", "b"]}, model="pair").rows == [("a", "b")]
    assert ask(read_classify, {"input": [["a", "b"]]}, model="pair").rows == [("a", "b")]


def test_logits_are_given_without_an_activation(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_classify, {"input": "a", "use_activation": False})
    logits = np.array([[-1, 0, 2]], dtype=np.float32)

    item = json.loads(asked.write(answered(1, logits=logits)).body)["data"][0]

    assert (item["label"], item["probs"]) == ("good", [-1, 0, 2])


def test_the_id_of_the_request_is_the_clients_if_it_is_a_plain_one(ask: Ask, answered: Callable[..., Answered]) -> None:
    for given, expected in (("abc-1", "classify-abc-1"), ("a\nb", "classify-"), ("x" * 101, "classify-")):
        headers = {"content-type": "application/json", "x-request-id": given}
        found = json.loads(ask(read_classify, {"input": "a"}, headers=headers).write(answered(1)).body)["id"]
        assert found.startswith(expected)
        assert len(found) < 50


def test_who_answered_is_there_only_with_a_fallback(ask: Ask, answered: Callable[..., Answered]) -> None:
    said = answered(by_fallback=np.array([True, False]))

    items = json.loads(ask(read_classify, {"input": ["a", "b"]}).write(said).body)["data"]

    assert [item["answered_by"] for item in items] == ["fallback", "student"]


def test_documented_extras_and_unknown_keys_are_ignored(ask: Ask) -> None:
    extras = {"user": "me", "truncate_prompt_tokens": 8, "priority": 0, "add_special_tokens": True, "other": [1]}

    assert ask(read_classify, {"input": "a", **extras}).rows == ["a"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({}, "input: Field required"),
        ({"messages": [{"role": "user", "content": "a"}]}, "input: Field required"),
        ({"input": [1, 2]}, "input[0]: Input should be a valid string"),
        ({"input": "a", "use_activation": 1}, "use_activation: Input should be a valid boolean"),
        ([], 'the body is not a question: send {"input": ["…"]}'),
    ],
)
def test_what_is_no_question_is_refused(question: Any, words: str, refusal: Refusal) -> None:
    status, detail = refusal(read_classify, question)

    assert status == 422
    assert words in detail


def test_an_unknown_model_is_refused_with_404(refusal: Refusal) -> None:
    assert refusal(read_classify, {"input": "a", "model": "other"})[0] == 404


def test_input_has_the_limits_of_rows(refusal: Refusal) -> None:
    assert refusal(read_classify, {"input": ["a", "b"]}, limits=Limits(rows=1))[0] == 413


def test_the_list_of_models_has_the_keys_of_openai(models: dict[str, AskedModel]) -> None:
    found = json.loads(models_body(list(models.values()), created=1_700_000_000))

    assert found["object"] == "list"
    assert [card["id"] for card in found["data"]] == ["single", "pair", "several"]
    assert (found["data"][0]["object"], found["data"][0]["max_model_len"]) == ("model", 128)
