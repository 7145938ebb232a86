import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limbeck.serving.limits import Limits
from limbeck.serving.wire.own import read_predict
from limbeck.serving.wire.questions import Answered, AskedModel

Ask = Callable[..., Any]
Refusal = Callable[..., tuple[int, str]]


def body_of(ask: Ask, question: Any, said: Answered, **options: Any) -> bytes:
    body: bytes = ask(read_predict, question, **options).write(said).body
    return body


def test_texts_are_rows(ask: Ask, models: dict[str, AskedModel]) -> None:
    asked = ask(read_predict, b'{"texts": ["a film", "\\ud83d"]}')

    assert (asked.rows, asked.model, asked.explain) == (["a film", "\ud83d"], models["single"], False)


def test_rows_may_have_a_pair_where_the_model_reads_two_texts(ask: Ask) -> None:
    single = ask(read_predict, {"rows": [{"text": "a"}, {"text": "b", "pair": None}]})
    pairs = ask(read_predict, {"rows": [{"text": "a", "pair": "b"}], "texts": None}, model="pair")

    assert single.rows == ["a", "b"]
    assert pairs.rows == [("a", "b")]


def test_an_empty_list_is_no_rows(ask: Ask, answered: Callable[..., Answered]) -> None:
    questions: list[Any] = [{"texts": []}, {"rows": []}]
    for question in questions:
        assert json.loads(body_of(ask, question, answered(0)))["predictions"] == []


def test_the_answer_is_byte_for_byte_what_it_was(ask: Ask, answered: Callable[..., Answered]) -> None:
    said = body_of(ask, {"texts": ["a", "b"]}, answered())

    assert said == (
        b'{"predictions":[{"label":"good","probabilities":{"bad":0.1,"fair":0.2,"good":0.7}},'
        b'{"label":"bad","probabilities":{"bad":0.6,"fair":0.3,"good":0.1}}],"milliseconds":1.235}'
    )


def test_several_labels_are_a_list(ask: Ask, answered: Callable[..., Answered]) -> None:
    said = json.loads(body_of(ask, {"texts": ["a", "b"]}, answered(), model="several"))

    assert [prediction["labels"] for prediction in said["predictions"]] == [["good"], ["bad"]]
    assert list(said["predictions"][0]) == ["labels", "probabilities"]


def test_probabilities_are_rounded_as_python_rounds(ask: Ask) -> None:
    drawn = np.random.default_rng(0).random((2_000, 3)).astype(np.float32)
    drawn[:200] /= 1_000_000
    said = Answered(probabilities=drawn, milliseconds=0)

    predictions = json.loads(body_of(ask, {"texts": []}, said))["predictions"]

    found = [list(prediction["probabilities"].values()) for prediction in predictions]
    assert found == [[round(value, 6) for value in row] for row in drawn.tolist()]


def test_who_answered_is_there_only_with_a_fallback(ask: Ask, answered: Callable[..., Answered]) -> None:
    said = answered(by_fallback=np.array([False, True]), fallback_note="the fallback does not answer")

    answer = json.loads(body_of(ask, {"texts": ["a", "b"]}, said))

    assert [prediction["answered_by"] for prediction in answer["predictions"]] == ["student", "fallback"]
    assert answer["note"] == "the fallback does not answer"


def test_an_explanation_has_pieces_and_effects(ask: Ask, answered: Callable[..., Answered]) -> None:
    asked = ask(read_predict, {"texts": ["a"], "explain": True})

    pieces = [{"piece": "go", "effect": 0.25}, {"piece": "od", "effect": -0.333333}]
    said = json.loads(asked.write(answered(1, explanations=[pieces])).body)

    assert asked.explain
    assert said["predictions"][0]["explanation"] == pieces


def test_a_model_is_chosen_by_the_body_or_by_the_address(ask: Ask, refusal: Refusal) -> None:
    by_body = ask(read_predict, {"texts": [], "model": "several"})
    by_address = ask(read_predict, {"texts": [], "model": None}, name="several")
    by_both = ask(read_predict, {"texts": [], "model": "several"}, name="several")

    assert by_body.model == by_address.model == by_both.model
    assert by_body.model.name == "several"
    assert refusal(read_predict, {"texts": [], "model": "other"}) == (404, "there is no model 'other'")
    assert refusal(read_predict, {"texts": [], "model": "pair"}, name="several")[0] == 404
    assert refusal(read_predict, {"texts": [], "model": 1})[0] == 422


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"texts": ["a film", 3]}, "texts[1]: Input should be a valid string"),
        ({"texts": [["a film"]]}, "texts[0]: Input should be a valid string"),
        ({"texts": "a film"}, "texts: Input should be a valid list"),
        ({"text": ["a film"]}, "text: unknown key (did you mean 'texts'?)"),
        ({"rows": [{"texts": "a film"}]}, "rows[0].text: Field required"),
        ({"rows": [{"text": "a film", "pairs": ""}]}, "rows[0].pairs: unknown key (did you mean 'pair'?)"),
        ({"rows": [{"text": 1}]}, "rows[0].text: Input should be a valid string"),
        ({"rows": [{"text": "a", "pair": 1}]}, "rows[0].pair: Input should be a valid string"),
        ({"rows": ["a film"]}, "rows[0]: "),
        ({}, "give either 'texts' or 'rows'"),
        ({"texts": ["a film"], "rows": [{"text": "a film"}]}, "give either 'texts' or 'rows'"),
        ({"texts": [], "explain": 1}, "explain: Input should be a valid boolean"),
        ({"texts": [], "inputs": "a"}, "inputs: unknown key"),
        (["a film"], 'the body is not a question: send {"texts": ["…"]}'),
        (None, "the body is not a question"),
        ({"texts": [0] * 50}, "texts[2]: Input should be a valid string … and 47 more"),
        ({"rows": [{"text": "a", "pair": ""}]}, "rows[0] has a 'pair', but this model reads one text per row"),
    ],
)
def test_what_is_no_question_is_refused_with_its_place(question: Any, words: str, refusal: Refusal) -> None:
    status, detail = refusal(read_predict, question)

    assert status == 422
    assert words in detail
    assert "a film" not in detail


@pytest.mark.parametrize("question", [{"texts": ["a"]}, {"rows": [{"text": "a"}]}])
def test_a_model_of_pairs_refuses_single_texts(question: Any, refusal: Refusal) -> None:
    status, detail = refusal(read_predict, question, model="pair")

    assert status == 422
    assert 'this model reads two texts per row: send {"rows": [{"text": "…", "pair": "…"}]}' in detail


@pytest.mark.parametrize("item", ["a", 1, None])
def test_rows_are_counted_before_they_are_looked_at(item: Any, refusal: Refusal) -> None:
    few = Limits(rows=3)

    assert refusal(read_predict, {"texts": [item] * 4}, limits=few) == (
        413,
        "4 rows in one request; at most 3 are taken",
    )
    assert refusal(read_predict, {"rows": [item] * 4}, limits=few)[0] == 413
    assert refusal(read_predict, {"rows": [item] * 2_000})[1].startswith("2,000 rows")


def test_a_long_text_is_refused_with_its_place(refusal: Refusal) -> None:
    short = Limits(characters=10)
    questions: dict[str, tuple[Any, str]] = {
        "texts[1]": ({"texts": ["a", "0123456789x"]}, "single"),
        "rows[0].text": ({"rows": [{"text": "0123456789x"}]}, "single"),
        "rows[0].pair": ({"rows": [{"text": "a", "pair": "0123456789x"}]}, "pair"),
    }

    for place, (question, model) in questions.items():
        expected = (413, f"{place} has 11 characters; at most 10 are taken")
        assert refusal(read_predict, question, limits=short, model=model) == expected


def test_an_answer_of_a_thousand_rows_and_150_labels_is_written_fast() -> None:
    model = AskedModel("wide", tuple(f"label {number}" for number in range(150)), False, False, 128, "")
    probabilities = np.random.default_rng(0).dirichlet(np.ones(150), 1_000).astype(np.float32)
    asked = read_predict(
        b'{"texts": []}',
        headers={"content-type": "application/json"},
        choose=lambda _: model,
        limits=Limits(),
    )

    started = time.thread_time()
    body = asked.write(Answered(probabilities=probabilities, milliseconds=1)).body
    seconds = time.thread_time() - started

    assert len(json.loads(body)["predictions"]) == 1_000
    assert seconds < 0.5  # it takes 0.03
