import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limbeck.serving.limits import Limits
from limbeck.serving.wire.hugging_face import info_body, read_hugging_face
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import Answered, AskedModel

Ask = Callable[..., Any]
Refusal = Callable[..., tuple[int, str]]
LOGITS = np.array([[-1.0, 0.0, 2.0], [1.0, 0.0, -1.0]], dtype=np.float32)


def said(asked: Any, answer: Answered) -> Any:
    return json.loads(asked.write(answer).body)


def test_one_text_is_answered_with_a_list_of_labels_the_best_first(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_predict, b'{"inputs": "a film"}')

    assert asked.rows == ["a film"]
    labels = said(asked, answered(1))
    assert [element["label"] for element in labels] == ["good", "fair", "bad"]
    assert [element["score"] for element in labels] == pytest.approx([0.7, 0.2, 0.1])


@pytest.mark.parametrize("inputs", [["a", "b"], [["a"], ["b"]], [{"text": "a"}, {"text": "b", "text_pair": None}]])
def test_two_texts_are_two_rows_for_a_model_of_single_texts(
    inputs: Any, ask: Ask, answered: Callable[..., Answered]
) -> None:
    asked = ask(read_predict, {"inputs": inputs})

    assert asked.rows == ["a", "b"]
    assert [labels[0]["label"] for labels in said(asked, answered())] == ["good", "bad"]


def test_a_list_of_one_text_is_still_a_list(ask: Ask, answered: Callable[..., Answered]) -> None:
    for inputs in (["a"], [["a"]]):
        assert [labels[0]["label"] for labels in said(ask(read_predict, {"inputs": inputs}), answered(1))] == ["good"]


@pytest.mark.parametrize("inputs", [["a", "b"], {"text": "a", "text_pair": "b"}])
def test_two_texts_are_one_pair_for_a_model_of_pairs(inputs: Any, ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_predict, {"inputs": inputs}, model="pair")

    assert asked.rows == [("a", "b")]
    assert said(asked, answered(1))[0]["label"] == "good"


def test_a_list_of_pairs_is_answered_with_a_list_of_lists(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_predict, {"inputs": [["a", "b"], ["c", "d"]]}, model="pair")

    assert asked.rows == [("a", "b"), ("c", "d")]
    assert len(said(asked, answered())) == 2


@pytest.mark.parametrize(
    ("inputs", "model", "words"),
    [
        ([["a", "b"]], "single", "inputs[0] has a second text, but this model reads one text per row"),
        ("a", "pair", "inputs has one text, and this model reads two texts per row"),
        (["a", "b", "c"], "pair", "inputs[0] has one text"),
        ([["a"]], "pair", "inputs[0] has one text"),
        ([["a", "b", "c"]], "pair", "inputs[0]: Input should be a text or a list of two texts"),
        ([[]], "single", "inputs[0]: Input should be a text or a list of two texts"),
        (["a", 1], "single", "inputs[1]: Input should be a valid string"),
        ([["a", 1]], "pair", "inputs[0]: Input should be a valid string"),
        (1, "single", "inputs: Input should be a text or a list"),
        (None, "single", "inputs: Input should be a text or a list"),
        ({"text_pair": "a"}, "pair", "inputs: Input should be a valid string"),
    ],
)
def test_other_inputs_are_refused(inputs: Any, model: str, words: str, refusal: Refusal) -> None:
    for reader in (read_predict, read_hugging_face):
        status, detail = refusal(reader, {"inputs": inputs}, model=model)

        assert status == 422
        assert words in detail


def test_inputs_have_the_limits_of_rows(refusal: Refusal) -> None:
    few = Limits(rows=1, characters=3)

    assert refusal(read_predict, {"inputs": [1, 2]}, limits=few)[0] == 413
    assert refusal(read_predict, {"inputs": ["abcd"]}, limits=few) == (
        413,
        "inputs[0] has 4 characters; at most 3 are taken",
    )


def test_raw_scores_are_logits(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_predict, {"inputs": "a", "raw_scores": True})

    assert said(asked, answered(1, logits=LOGITS[:1]))[0] == {"label": "good", "score": 2.0}


def test_without_logits_raw_scores_give_the_probabilities_back(ask: Ask, answered: Callable[..., Answered]) -> None:
    single = said(ask(read_predict, {"inputs": ["a", "b"], "raw_scores": True}), answered())
    several = said(ask(read_predict, {"inputs": ["a", "b"], "raw_scores": True}, model="several"), answered())

    assert np.exp(single[0][0]["score"]) == pytest.approx(0.7, abs=1e-6)
    assert 1 / (1 + np.exp(-several[0][0]["score"])) == pytest.approx(0.7, abs=1e-6)


def test_sure_probabilities_have_finite_logits(ask: Ask) -> None:
    sure = Answered(probabilities=np.array([[0, 0, 1]], dtype=np.float32), milliseconds=0)

    for model in ("single", "several"):
        body = ask(read_predict, {"inputs": "a", "raw_scores": True}, model=model).write(sure).body
        assert b"NaN" not in body
        assert b"Inf" not in body


@pytest.mark.parametrize(
    "options",
    [
        {"truncate": True},
        {"truncate": None},
        {"truncation_direction": "Right"},
        {"truncation_direction": "right"},
        {"raw_scores": None},
        {"prompt_name": "of embeddings, ignored"},
    ],
)
def test_what_tei_takes_is_taken(options: Any, ask: Ask) -> None:
    assert ask(read_predict, {"inputs": "a", **options}).rows == ["a"]


@pytest.mark.parametrize("options", [{"truncate": "yes"}, {"raw_scores": 1}, {"truncation_direction": "Left"}])
def test_what_would_give_another_answer_is_refused(options: Any, refusal: Refusal) -> None:
    assert refusal(read_predict, {"inputs": "a", **options})[0] == 422


def test_the_inference_api_answers_one_text_with_a_list_of_lists(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_hugging_face, b'{"inputs": "a film", "parameters": {}, "options": {"use_cache": false}}')

    assert said(asked, answered(1)) == [[{"label": label, "score": pytest.approx(score)} for label, score in GOOD]]


GOOD = [("good", 0.7), ("fair", 0.2), ("bad", 0.1)]


@pytest.mark.parametrize(("top_k", "count"), [(1, 1), (2.0, 2), (99, 3), (10**30, 3), (None, 3)])
def test_the_best_labels_alone(top_k: Any, count: int, ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_hugging_face, {"inputs": ["a", "b"], "parameters": {"top_k": top_k}})

    assert [len(labels) for labels in said(asked, answered())] == [count, count]


@pytest.mark.parametrize(
    ("function", "model", "best"),
    [
        ("softmax", "single", 0.7),  # calibrated, not the softmax of the logits
        ("sigmoid", "single", 1 / (1 + np.exp(-2))),
        ("none", "single", 2.0),
        ("sigmoid", "several", 0.7),
        ("softmax", "several", np.exp(2) / (np.exp(2) + 1 + np.exp(-1))),
        (None, "several", 0.7),
    ],
)
def test_functions_are_applied_to_logits(
    function: Any, model: str, best: float, ask: Ask, answered: Callable[..., Answered]
) -> None:
    asked = ask(read_hugging_face, {"inputs": "a", "parameters": {"function_to_apply": function}}, model=model)

    scores = said(asked, answered(1, logits=LOGITS[:1]))[0]

    assert (scores[0]["label"], scores[0]["score"]) == ("good", pytest.approx(best))


@pytest.mark.parametrize(
    "parameters",
    [[], 1, {"top_k": 0}, {"top_k": True}, {"top_k": 1.5}, {"top_k": "1"}, {"function_to_apply": "tanh"},
     {"function_to_apply": ["none"]}],
)  # fmt: skip
def test_other_parameters_are_refused(parameters: Any, refusal: Refusal) -> None:
    status, detail = refusal(read_hugging_face, {"inputs": "a", "parameters": parameters})

    assert status == 422
    assert detail.startswith("parameters")


def test_a_question_without_inputs_is_refused(refusal: Refusal) -> None:
    assert refusal(read_hugging_face, {"texts": ["a"]}) == (422, "inputs: Field required")
    assert refusal(read_hugging_face, [])[1] == 'the body is not a question: send {"inputs": "…"}'


def test_info_has_the_keys_of_tei(models: dict[str, AskedModel]) -> None:
    info = json.loads(info_body(models["single"], limits=Limits(rows=32), version="0.1", most_requests=512))

    assert (info["model_id"], info["model_sha"], info["version"]) == ("single", "1f", "0.1")
    assert info["model_type"]["classifier"]["id2label"] == {"0": "bad", "1": "fair", "2": "good"}
    assert info["model_type"]["classifier"]["label2id"] == {"bad": 0, "fair": 1, "good": 2}
    assert (info["max_input_length"], info["max_client_batch_size"], info["auto_truncate"]) == (128, 32, True)
