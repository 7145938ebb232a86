"""Every format: the question that a server of this kind understands, and answers that are checked."""

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limbeck.runtime.fallbacks.answers import WantedAnswer
from limbeck.runtime.fallbacks.connections import Server
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackUnusable
from limbeck.runtime.fallbacks.formats import (
    AnswerFormat,
    HuggingFaceFormat,
    LimbeckFormat,
    TeiFormat,
    VllmFormat,
)
from limbeck.runtime.fallbacks.kserve import KserveFormat
from limbeck.runtime.fallbacks.openai_chat import OpenAiFormat
from tests.unit.runtime.fallbacks.conftest import ScriptedServer, always

LABELS = ("negative", "neutral", "positive")
ROWS = ["a gorgeous film", "a dreadful road"]
EXPECTED = [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]
NAMED = [dict(zip(LABELS[::-1], row[::-1], strict=True)) for row in EXPECTED]  # in another order
SCORED = [[{"label": label, "score": score} for label, score in row.items()] for row in NAMED]
METADATA = {"name": "m", "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}], "outputs": []}
FLOATS = {"name": "probabilities", "datatype": "FP32", "shape": [2, 3], "data": [*EXPECTED[0], *EXPECTED[1]]}

GOOD: dict[str, tuple[Callable[..., AnswerFormat], dict[str, Any], str, Any, Any]] = {
    "limbeck": (
        LimbeckFormat,
        {"model": "big"},
        "/predict",
        {"texts": ROWS, "model": "big"},
        {"predictions": [{"label": "x", "probabilities": row} for row in NAMED], "milliseconds": 1.0},
    ),
    "tei": (
        TeiFormat,
        {},
        "/predict",
        {"inputs": [[row] for row in ROWS], "raw_scores": False, "truncate": True},
        SCORED,
    ),
    "hf": (
        HuggingFaceFormat,
        {},
        "/",
        {"inputs": ROWS, "parameters": {"top_k": 3, "function_to_apply": "softmax"}},
        SCORED,
    ),
    "vllm": (
        VllmFormat,
        {"model": "big"},
        "/classify",
        {"input": ROWS, "model": "big"},
        {
            "data": [
                {"index": 1, "label": "negative", "probs": EXPECTED[1], "num_classes": 3},
                {"index": 0, "label": "positive", "probs": EXPECTED[0], "num_classes": 3},
            ]
        },
    ),
    "kserve": (
        KserveFormat,
        {"model": "m"},
        "/v2/models/m/infer",
        {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": ROWS}]},
        {"model_name": "m", "outputs": [{"name": "label", "datatype": "BYTES", "shape": [2], "data": []}, FLOATS]},
    ),
}


def wanted(*, pair: bool = False, multi_label: bool = False) -> WantedAnswer:
    return WantedAnswer(LABELS, pair=pair, multi_label=multi_label, name="the server")


def scripted(server: ScriptedServer, answer: Any) -> Server:
    def respond(question: str, body: Any) -> Any:
        return METADATA if question.startswith("GET") else always(answer)(question, body)

    server.answer = respond
    return Server(server.url, timeout=5)


@pytest.mark.parametrize("name", GOOD)
def test_a_server_is_asked_in_its_own_words_and_its_labels_come_in_our_order(server: ScriptedServer, name: str) -> None:
    kind, options, path, question, answer = GOOD[name]
    format = kind(scripted(server, answer), wanted(), **options)

    found = format.ask(ROWS)

    np.testing.assert_allclose(found, EXPECTED, rtol=1e-6)
    assert found.dtype == np.float32
    assert server.asked[-1] == (f"POST {path}", question)


PAIRS = [("a film", "a road"), ("one", "two")]


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("limbeck", "rows", [{"text": "a film", "pair": "a road"}, {"text": "one", "pair": "two"}]),
        ("tei", "inputs", [["a film", "a road"], ["one", "two"]]),
        ("hf", "inputs", [{"text": "a film", "text_pair": "a road"}, {"text": "one", "text_pair": "two"}]),
    ],
)
def test_pairs_are_asked_as_pairs(server: ScriptedServer, name: str, key: str, expected: Any) -> None:
    kind, options, _, _, answer = GOOD[name]

    kind(scripted(server, answer), wanted(pair=True), **options).ask(PAIRS)

    assert server.asked[-1][1][key] == expected


def test_several_labels_per_row_are_asked_of_tei_as_logits(server: ScriptedServer) -> None:
    logits = [[{"label": label, "score": score} for label, score in zip(LABELS, (0.0, -40.0, 3.0), strict=True)]]

    found = TeiFormat(scripted(server, logits), wanted(multi_label=True)).ask(["a film"])

    np.testing.assert_allclose(found, [[0.5, 0.0, 0.952574]], atol=1e-6)
    assert server.asked[-1][1]["raw_scores"] is True


def broken(name: str) -> list[Any]:
    """Answers that are not what was asked for: of another shape, with other labels, with numbers that are none."""
    one = [SCORED[0]]
    other = [[{"label": "LABEL_0", "score": 0.5}, *SCORED[0][1:]], SCORED[1]]
    nan = [[{**SCORED[0][0], "score": float("nan")}, *SCORED[0][1:]], SCORED[1]]
    huge = [[{**SCORED[0][0], "score": 10**400}, *SCORED[0][1:]], SCORED[1]]
    few = [SCORED[0][:1], SCORED[1]]
    double = [[*SCORED[0], SCORED[0][0]], [{"label": label, "score": 0.9} for label in LABELS]]
    if name in ("tei", "hf"):
        return [one, other, nan, huge, few, double, {}, [], [{}, {}], [[1], [2]], None, "text", {"error": "busy"}]
    good = GOOD[name][4]
    if name == "limbeck":
        rows = good["predictions"]
        wrong = [[rows[0]], [{"label": "x"}] * 2, [{"probabilities": {"negative": 1}}] * 2, [{"probabilities": []}] * 2]
        text = [{"probabilities": {**NAMED[0], "positive": "0.7"}}] * 2
        true = [{"probabilities": {"positive": True, "negative": 0, "neutral": 0}}] * 2
        return [*({"predictions": each} for each in [*wrong, text, true]), [], {}, None]
    if name == "vllm":
        rows = good["data"]
        places = [[rows[0]], [rows[0], rows[0]], [{**rows[0], "index": 5}, rows[1]]]
        probs = [[{**rows[0], "probs": value}, rows[1]] for value in ([1.0], [0.6, 0.3, -0.1], [0.6, 0.6, 0.6], None)]
        labels = [[{**rows[0], "label": "positive"}, rows[1]]]
        return [*({"data": each} for each in [*places, *probs, *labels, [1, 2], [{}, {}]]), {}, []]
    changes: list[dict[str, Any]] = [
        *({"shape": [3, 2]}, {"shape": [2]}, {"datatype": "INT64"}, {"data": [0.5]}, {"data": [2.0] * 6}),
        *({"data": [[0.5, 0.5], [0.5, 0.5]]}, {"data": [None] * 6}),
    ]
    outputs = [*([{**FLOATS, **change}] for change in changes), [], 1]
    return [*({"outputs": each} for each in outputs), {}, []]


@pytest.mark.parametrize("name", GOOD)
def test_an_answer_to_another_question_is_a_failure(server: ScriptedServer, name: str) -> None:
    kind, options, *_ = GOOD[name]
    format = kind(scripted(server, {}), wanted(), **options)

    for answer in broken(name):
        scripted(server, answer)
        with pytest.raises(FallbackFailed) as failed:
            format.ask(ROWS)
        assert len(str(failed.value)) < 500, answer


ODD: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 0.5, 10**400, float("nan"), float("inf"), "", "positive", "FP32", "0.5", "\ud83d"),
    *([], [[]], [1, 2], ["a"], {}, {"label": []}, [{}], [{"index": []}], {"a": {"b": []}}),
)


def damaged(value: Any, chance: random.Random) -> Any:
    """The same outline, with a value of another type here and there."""
    if chance.random() < 0.12:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: damaged(each, chance) for key, each in value.items() if chance.random() > 0.02}
    return [damaged(each, chance) for each in value] if isinstance(value, list) else value


class Answering:
    """In place of a server: answers at once."""

    def __init__(self, about: Any, answer: Any) -> None:
        self.about, self.answer = about, answer

    def get(self, *_: Any, **__: Any) -> Any:
        return self.about

    def post(self, _: str, body: Any, **__: Any) -> Any:
        json.dumps(body)
        return self.answer


@pytest.mark.parametrize("name", [*GOOD, "openai"])
def test_whatever_types_an_answer_has_there_is_a_failure_at_most(name: str) -> None:
    """`index` as a list was a TypeError."""
    chance = random.Random(name)
    chosen = (OpenAiFormat, {"model": "m"}, "", None, chat("B", {"A": 0.6, "B": 0.4}))
    kind, options, _, _, answer = {**GOOD, "openai": chosen}[name]
    outcomes = set[bool]()
    for number in range(1_500):
        multi_label = number % 3 == 0 and name != "openai"
        server: Any = Answering(damaged(METADATA, chance), damaged(answer, chance))
        format = kind(server, wanted(multi_label=multi_label), **options)
        try:
            found = format.ask(ROWS[:1] if name == "openai" else ROWS)
        except FallbackFailed:
            outcomes.add(False)
        else:
            outcomes.add(found.shape[1] == 3)

    assert outcomes == {True, False}


def test_other_labels_are_named(server: ScriptedServer) -> None:
    answer = [[{"label": f"LABEL_{number}", "score": 1 / 3} for number in range(3)]]

    with pytest.raises(
        FallbackFailed, match=r"did not give negative, neutral, positive; the student does not .*LABEL_0"
    ):
        TeiFormat(scripted(server, answer), wanted()).ask(["a film"])


def test_a_model_of_kserve_with_inputs_in_columns_gets_columns(server: ScriptedServer) -> None:
    inputs = [{"name": name, "datatype": "BYTES", "shape": [-1, 1]} for name in ("first", "second")]
    answer = {"outputs": [FLOATS]}
    server.answer = lambda _, body: {"inputs": inputs} if body is None else answer

    KserveFormat(Server(server.url, timeout=5), wanted(pair=True), "m").ask(PAIRS)

    assert server.asked[-1][1] == {
        "inputs": [
            {"name": "first", "datatype": "BYTES", "shape": [2, 1], "data": ["a film", "one"]},
            {"name": "second", "datatype": "BYTES", "shape": [2, 1], "data": ["a road", "two"]},
        ]
    }


def test_labels_in_the_metadata_of_a_model_give_the_order(server: ScriptedServer) -> None:
    output = {
        "name": "probabilities",
        "datatype": "FP32",
        "shape": [-1, 3],
        "parameters": {"labels": list(LABELS[::-1])},
    }
    about = {**METADATA, "outputs": [{"name": "label", "datatype": "BYTES", "shape": [-1]}, output]}
    answer = {"outputs": [{**FLOATS, "data": [*EXPECTED[0][::-1], *EXPECTED[1][::-1]]}]}
    server.answer = lambda _, body: about if body is None else answer

    found = KserveFormat(Server(server.url, timeout=5), wanted(), "m").ask(ROWS)

    np.testing.assert_allclose(found, EXPECTED, rtol=1e-6)


def chat(content: str, tokens: dict[str, float] | None = None) -> dict[str, Any]:
    """What a server of language models answers."""
    top = [{"token": token, "logprob": float(np.log(share))} for token, share in (tokens or {}).items()]
    logprobs = {"content": [{"token": content, "logprob": -0.1, "top_logprobs": top}]} if tokens else None
    return {"choices": [{"message": {"role": "assistant", "content": content}, "logprobs": logprobs}]}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (chat("C", {"C": 0.6, " A": 0.15, "b": 0.05, "The": 0.2}), [0.1875, 0.0625, 0.75]),
        (chat("C"), [0, 0, 1]),
        (chat(" b. "), [0, 1, 0]),
        (chat("Positive"), [0, 0, 1]),
        (chat("C", {"The": 0.9}), [0, 0, 1]),
        (chat("C: positive"), [0, 0, 1]),
        (chat("C) Positive"), [0, 0, 1]),
        (chat("(b) neutral."), [0, 1, 0]),
        (chat("c. Positive\n"), [0, 0, 1]),
        (chat("**A** - negative"), [1, 0, 0]),
        (chat("C: posi"), [0, 0, 1]),
        (chat("positive."), [0, 0, 1]),
        (chat('"positive"'), [0, 0, 1]),
        (chat("“Positive.”"), [0, 0, 1]),
        (chat("positive.", {"pos": 0.99, "A": 0.003, "B": 0.001}), [0, 0, 1]),
        (chat("C: negative"), [np.nan] * 3),
        (chat("C: negative", {"C": 0.9, "A": 0.1}), [np.nan] * 3),
        (chat("A text that praises", {"The": 0.9, "A": 0.05}), [np.nan] * 3),
        (chat("A positive text"), [np.nan] * 3),
        (chat("D: positive"), [np.nan] * 3),
        (chat("."), [np.nan] * 3),
        (chat("D"), [np.nan] * 3),
        (chat("I cannot say"), [np.nan] * 3),
        (chat(""), [np.nan] * 3),
        ({"choices": [{"message": None}]}, [np.nan] * 3),
        ({"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": [{}]}]}}]}, [1, 0, 0]),
    ],
)
def test_the_letter_of_a_choice_is_its_label(server: ScriptedServer, answer: Any, expected: list[float]) -> None:
    format = OpenAiFormat(scripted(server, answer), wanted(), "llm")

    np.testing.assert_allclose(format.ask(["a film"]), [expected], atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "answer", "expected"),
    [
        (("B", "A"), "B", 1),  # it is asked for letters
        (("B", "A"), "B: A", 1),
        (("good", "Good"), "Good", 1),
        (("good", "Good"), "GOOD", None),
        (("C++", "C"), "c++", 0),
        (("+", "-"), "-", 1),
        (("(none)", "some"), "none", 0),
        (("e-mail", "post"), "E-mail.", 0),
    ],
)
def test_labels_that_look_like_letters_or_signs(
    server: ScriptedServer, labels: tuple[str, ...], answer: str, expected: int | None
) -> None:
    asked = WantedAnswer(labels, pair=False, multi_label=False, name="the server")

    (found,) = OpenAiFormat(scripted(server, chat(answer)), asked, "llm").ask(["a film"])

    assert np.isnan(found).all() if expected is None else found.argmax() == expected


def test_a_language_model_sees_the_instruction_the_labels_and_the_text(server: ScriptedServer) -> None:
    format = OpenAiFormat(scripted(server, chat("A")), wanted(pair=True), "llm", instruction="How does it feel?")

    format.ask([("first text", "second text")])

    _, body = server.asked[-1]
    system, user = body["messages"]
    assert system["content"] == "How does it feel?\nA: negative\nB: neutral\nC: positive"
    assert "first text" in user["content"]
    assert "second text" in user["content"]
    assert (body["model"], body["temperature"], body["logprobs"], body["top_logprobs"]) == ("llm", 0, True, 20)


def test_rows_of_a_language_model_keep_their_order(server: ScriptedServer) -> None:
    server.answer = lambda _, body: chat("A" if body["messages"][1]["content"] == "good" else "B")

    found = OpenAiFormat(Server(server.url, timeout=5), wanted(), "llm").ask(["good", "bad", "good", "bad"])

    assert found.argmax(axis=1).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("answer", [{}, [], {"choices": []}, {"choices": [1]}, {"choices": None}])
def test_no_choice_at_all_is_a_failure(server: ScriptedServer, answer: Any) -> None:
    with pytest.raises(FallbackFailed):
        OpenAiFormat(scripted(server, answer), wanted(), "llm").ask(["a film"])


def test_a_language_model_does_not_choose_several_labels_or_one_of_a_hundred(server: ScriptedServer) -> None:
    asked = Server(server.url, timeout=5)
    many = WantedAnswer(tuple(map(str, range(100))), pair=False, multi_label=False, name="the server")

    for each in (wanted(multi_label=True), many):
        with pytest.raises(FallbackUnusable, match="at most 26 labels"):
            OpenAiFormat(asked, each, "llm")
