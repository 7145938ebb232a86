"""Probabilities from the answers of a language model, by hand; and the questions that they belong to."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.errors import PathUnusable
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.teacher.endpoints.questions import LETTERS, Question, Questions
from limbeck.teacher.endpoints.readings import (
    read_confidence,
    read_letters,
    read_line_votes,
    read_lines,
    read_votes,
)
from limbeck.teacher.endpoints.tokens import TokenCount, estimated_tokens

LABELS = ("cheap", "dear", "free")
QUESTION = Question(order=(2, 0, 1), symbols=("A", "B", "C"), body={})  # A is free, B cheap, C dear
DESCRIBED = {
    "labels": list(LABELS), "multi_label": False, "order": "shuffled", "model": "m", "instruction": "Say what it is.",
    "descriptions": {"free": "costs nothing"}, "examples": [], "options": {}, "structured_output": "auto",
    "sampling_temperature": 0.7, "max_characters": None,
}  # fmt: skip


def questions(**changes: Any) -> Questions:
    return Questions({**DESCRIBED, **changes})


def token(text: str, **likely: float) -> dict[str, Any]:
    top = [{"token": name, "logprob": math.log(share)} for name, share in likely.items()]
    return {"token": text, "logprob": 0.0, "top_logprobs": top}


def answer(text: str, *tokens: dict[str, Any]) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}, "logprobs": {"content": list(tokens)}}


def test_letters_become_probabilities_of_the_classes_they_stand_for() -> None:
    reading = read_letters(QUESTION, answer("A", token("A", A=0.6, B=0.1, C=0.3)), LABELS)

    assert reading is not None
    np.testing.assert_allclose(reading.probabilities, [0.1, 0.3, 0.6])
    assert reading.unseen == 0


def test_several_forms_of_a_letter_count_together_and_unseen_classes_share_the_rest() -> None:
    likely = {"A": 0.5, " A": 0.2, "B": 0.2, "The": 0.04}

    reading = read_letters(QUESTION, answer("A", token("A", **likely)), LABELS)

    assert reading is not None
    assert reading.unseen == 1
    given = np.array([0.2, 0.06, 0.7])  # 0.06 is what the told tokens leave
    np.testing.assert_allclose(reading.probabilities, given / given.sum())


def test_what_names_no_class_is_no_reading() -> None:
    assert read_letters(QUESTION, answer("I", token("I", I=0.9, A=0.1)), LABELS) is None
    assert read_letters(QUESTION, answer("A: dear", token("A", A=1.0)), LABELS) is None  # A is free, not dear
    assert read_votes(QUESTION, [answer("well"), answer("")], LABELS) is None
    assert read_confidence(QUESTION, answer('{"answer": "A", "confidence": 7}'), LABELS, several=False) is None
    assert read_confidence(QUESTION, answer("A, surely"), LABELS, several=False) is None
    assert read_lines(QUESTION, answer("A: yes", token("A", A=1.0), token(" yes", yes=1.0))) is None
    assert read_line_votes(QUESTION, [answer("A: yes\nB: no")]) is None


def test_votes_are_the_share_of_the_answers_that_name_a_class() -> None:
    reading = read_votes(QUESTION, [answer("A"), answer("C."), answer("free"), answer("hm"), answer("A) free")], LABELS)

    assert reading is not None
    np.testing.assert_allclose(reading.probabilities, [0.0, 0.25, 0.75])


def test_a_stated_confidence_leaves_the_rest_to_the_other_classes() -> None:
    one = read_confidence(QUESTION, answer('```{"answer": "B", "confidence": 0.8}```'), LABELS, several=False)
    several = read_confidence(QUESTION, answer('{"A": 0.9, "B": 0.2, "C": 0}'), LABELS, several=True)

    assert one is not None
    assert several is not None
    np.testing.assert_allclose(one.probabilities, [0.8, 0.1, 0.1])
    np.testing.assert_allclose(several.probabilities, [0.2, 0.0, 0.9])


def test_lines_of_yes_and_no_are_read_by_their_tokens_and_by_votes() -> None:
    tokens = []
    for symbol, likely in (("A", 0.9), ("B", 0.25), ("C", 0.5)):
        tokens += [token(symbol), token(":"), token(" yes", **{" yes": likely, " no": 1 - likely}), token("\n")]

    reading = read_lines(QUESTION, answer("", *tokens))
    votes = read_line_votes(QUESTION, [answer("A: yes\nB: no\nC: no"), answer("A: Yes\n- B: yes\nC: no."), answer("?")])

    assert reading is not None
    assert votes is not None
    np.testing.assert_allclose(reading.probabilities, [0.25, 0.5, 0.9])
    np.testing.assert_allclose(votes.probabilities, [0.5, 0.0, 1.0])


def test_the_order_belongs_to_the_text_and_every_class_is_as_often_at_every_place() -> None:
    asked = questions()
    orders = [asked.order_of(f"text {number}", None) for number in range(900)]

    assert orders == [asked.order_of(f"text {number}", None) for number in range(900)]
    counts = Counter((place, number) for order in orders for place, number in enumerate(order))
    assert all(240 < count < 360 for count in counts.values())
    assert len(counts) == 9
    assert asked.order_of("text 1", None, attempt=1) != asked.order_of("text 1", None) or (
        asked.order_of("text 2", None, attempt=1) != asked.order_of("text 2", None)
    )
    assert questions(order="given").order_of("text", None) == (0, 1, 2)


def test_a_question_says_which_letter_is_which_class_and_shows_examples_with_these_letters() -> None:
    asked = questions(examples=[{"text": "gratis", "pair": None, "labels": ["free"]}])

    question = asked.about("what a bargain", None, way="logprobs")

    system, example, reply, user = (message["content"] for message in question.body["messages"])
    letter = "ABC"[question.order.index(2)]
    assert f"{letter}: free (costs nothing)" in system.splitlines()
    assert (example, reply, user) == ("gratis", letter, "what a bargain")
    assert question.body["top_logprobs"] == 20
    assert question.body["temperature"] == 0


def test_many_classes_have_numbers_and_halves_of_characters_are_replaced() -> None:
    many = questions(labels=[f"class {number}" for number in range(60)], descriptions={}, max_characters=4)

    question = many.about("ab\ud83dcdef", None, way="votes", samples=3)

    assert question.symbols[-1] == "60"
    assert question.body["messages"][-1]["content"] == "ab\ufffdc"
    assert question.body["n"] == 3
    assert len(LETTERS) == 52


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a cat", 2), ("unbelievably", 2), ("价格 12345!", 5)])
def test_tokens_are_estimated_by_words_signs_and_digits(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_the_tokenizer_of_the_model_counts_exactly(tiny_teacher_folder: Path) -> None:
    section = EndpointTeacher(
        kind="endpoint", url="http://localhost", model="m", tokenizer=str(tiny_teacher_folder / "tokenizer.json")
    )
    body = {"messages": [{"role": "system", "content": "the film is gorgeous"}, {"role": "user", "content": "a road"}]}

    assert TokenCount(section).of_question(body) == 4 + 2 + 2 * 4 + 3  # of the texts, around each, and at the end
    assert not TokenCount(section).is_estimate
    with pytest.raises(PathUnusable, match="not a tokenizer"):
        TokenCount(section.model_copy(update={"tokenizer": __file__})).of_question(body)
