"""What a fallback may be: a folder or an address that takes the student's place; anything else is refused by name."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limbeck
from limbeck.artifacts.manifest import MANIFEST, Key, write_manifest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.fallbacks.connections import Server
from limbeck.runtime.fallbacks.detection import detected
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackOptionsWrong, FallbackUnusable
from limbeck.runtime.fallbacks.opening import FallbackOptions, LocalFallback, ServerFallback, open_fallback
from tests.unit.runtime.fallbacks.conftest import Fault, ScriptedServer, always
from tests.unit.runtime.fallbacks.test_formats import chat

MakeModel = Callable[..., ModelFolder]
MODEL = {"labels": ["positive", "negative"], "pair": False, "multi_label": False, "max_rows": 256}
PREDICTION = {"predictions": [{"probabilities": {"positive": 0.9, "negative": 0.1}}]}
SCORES = [[{"label": "positive", "score": 0.9}, {"label": "negative", "score": 0.1}]]
VLLM = {"data": [{"index": 0, "label": "positive", "probs": [0.1, 0.9]}]}
KSERVE = {"outputs": [{"name": "probs", "datatype": "FP32", "shape": [1, 2], "data": [0.1, 0.9]}]}
INPUTS = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}]}
SERVERS: dict[str, dict[str, Any]] = {
    "limbeck": {"GET /model": MODEL, "POST /predict": PREDICTION, "GET /info": {"model_type": {"classifier": {}}}},
    "tei": {"GET /info": {"model_id": "x", "model_type": {"classifier": {"id2label": {}}}}, "POST /predict": SCORES},
    "kserve": {"GET /v2/health/live": b"", "GET /v2/models/big": INPUTS, "POST /v2/models/big/infer": KSERVE},
    "vllm": {"GET /v1/models": {"data": [{"id": "big"}]}, "POST /classify": VLLM},
    "openai": {"GET /v1/models": {"data": [{"id": "big"}]}, "POST /v1/chat/completions": chat("B")},
}


def speaking(server: ScriptedServer, answers: dict[str, Any]) -> str:
    """A server with these paths alone."""

    def answer(question: str, body: Any) -> Any:
        return always(answers.get(question, Fault("status", status=404)))(question, body)

    server.answer = answer
    return server.url


def with_facts(model: ModelFolder, **changes: Any) -> ModelFolder:
    card = json.loads((model.folder / "model.json").read_text(encoding="utf-8"))
    (model.folder / "model.json").write_text(json.dumps(card | changes), encoding="utf-8")
    (model.folder / MANIFEST).unlink()
    write_manifest(model.folder, kind="model", key=Key(section={}, inputs={}))
    return model


@pytest.mark.parametrize("name", SERVERS)
def test_the_format_of_a_server_is_found_out(server: ScriptedServer, make_model: MakeModel, name: str) -> None:
    url = speaking(server, SERVERS[name])
    options = FallbackOptions(model="big") if name == "kserve" else None

    fallback = open_fallback(url, make_model("one").facts(), options=options)

    assert detected(Server(url, timeout=5)) == name
    np.testing.assert_allclose(fallback.predict_proba(["a film"])[0, 1], 0.9 if name != "openai" else 1, atol=1e-5)
    assert fallback.name == url


@pytest.mark.parametrize(
    ("ending", "format"),
    [
        ("/v1/chat/completions", "openai"),
        ("/v1", "openai"),
        ("/classify", "vllm"),
        ("/predict", "limbeck"),
        ("/", "tei"),
    ],
)
def test_addresses_as_people_copy_them_lead_to_the_server(
    server: ScriptedServer, make_model: MakeModel, ending: str, format: str
) -> None:
    url = speaking(server, SERVERS[format])

    fallback = open_fallback(f"{url}{ending}", make_model("one").facts())

    assert fallback.name == url
    assert fallback.predict_proba(["a film"]).argmax() == 1


def test_a_format_that_is_said_is_not_asked_for(make_model: MakeModel, server: ScriptedServer) -> None:
    speaking(server, SERVERS["tei"])

    fallback = open_fallback(server.url, make_model("one").facts(), options=FallbackOptions("tei"))

    assert server.asked == []
    assert fallback.predict_proba(["a film"]).shape == (1, 2)


def test_all_questions_for_many_rows_have_one_time_out(make_model: MakeModel, server: ScriptedServer) -> None:
    """Each had one of its own: 1,000 rows might take sixteen times as long."""

    def answer(_: str, body: Any) -> Any:
        time.sleep(0.15)
        return [[{"label": "negative", "score": 0.1}, {"label": "positive", "score": 0.9}]] * len(body["inputs"])

    server.answer = answer
    options = FallbackOptions("tei", timeout=0.5)
    fallback = open_fallback(server.url, make_model("one").facts(), options=options)
    started = time.monotonic()

    with pytest.raises(FallbackFailed, match=r"not within 0\.5 seconds"):
        fallback.predict_proba(["a film"] * 1_000)

    assert time.monotonic() - started < 15 * 0.5  # of sixteen questions that might each have taken so long
    assert len(server.asked) < 6
    assert fallback.predict_proba(["a film"]).shape == (1, 2)


def test_a_fallback_that_is_closed_asks_nothing_more(make_model: MakeModel, server: ScriptedServer) -> None:
    fallback = open_fallback(server.url, make_model("one").facts(), options=FallbackOptions("tei"))
    local = open_fallback(make_model("two").folder, make_model("one").facts())

    for each in (fallback, local):
        each.close()

    with pytest.raises(FallbackFailed, match="stops"):
        fallback.predict_proba(["a film"])
    assert not server.asked


def test_many_rows_are_asked_in_several_questions(make_model: MakeModel, server: ScriptedServer) -> None:
    server.answer = lambda _, body: SCORES * len(body["inputs"])

    found = open_fallback(server.url, make_model("one").facts(), options=FallbackOptions("tei")).predict_proba(
        ["a film"] * 70
    )

    assert found.shape == (70, 2)
    assert [len(body["inputs"]) for _, body in server.asked] == [32, 32, 6]


TWO = {
    "GET /model": MODEL,
    "GET /models/big": MODEL,
    "GET /models/topic": {**MODEL, "labels": ["sport", "economy"]},
    "GET /v1/models": {"data": [{"id": "big"}, {"id": "topic"}]},
    "POST /predict": PREDICTION,
}


def test_a_server_of_several_models_is_asked_about_the_one_that_it_is_to_use(
    server: ScriptedServer, make_model: MakeModel
) -> None:
    url, facts = speaking(server, TWO), make_model("one").facts()

    open_fallback(url, facts, options=FallbackOptions(model="big"))

    assert server.asked[-1] == ("POST /predict", {"texts": ["a"], "model": "big"})
    with pytest.raises(FallbackUnusable, match="does not have negative, positive; the student does not have economy"):
        open_fallback(url, facts, options=FallbackOptions(model="topic"))
    with pytest.raises(FallbackUnusable, match="it has no model 'a/b'; it has big, topic") as refused:
        open_fallback(url, facts, options=FallbackOptions(model="a/b"))
    assert "GET /models/a%2Fb" in server.questions
    assert "--fallback-model" in refused.value.advice


@pytest.mark.parametrize("name", ["limbeck", "tei", "kserve", "openai"])  # vllm is found out by a row
def test_a_server_that_is_found_out_and_does_not_answer_a_row_is_refused(
    server: ScriptedServer, make_model: MakeModel, name: str
) -> None:
    silent = {question: found for question, found in SERVERS[name].items() if question.startswith("GET")}
    asked = {"kserve": "/v2/models/big/infer", "openai": "/v1/chat/completions"}
    url = speaking(server, {**silent, f"POST {asked.get(name, '/predict')}": Fault("silent")})
    options = FallbackOptions(model="big" if name == "kserve" else None, timeout=0.3)

    with pytest.raises(FallbackUnusable, match=r"asked for one row, in the format \w+: not within 0\.3") as refused:
        open_fallback(url, make_model("one").facts(), options=options)

    assert "--fallback-timeout" in refused.value.advice


def test_a_format_that_there_is_not_is_a_users_mistake(make_model: MakeModel) -> None:
    options = FallbackOptions("llama")  # type: ignore[arg-type]

    with pytest.raises(FallbackOptionsWrong, match="no format 'llama'") as refused:
        open_fallback("http://127.0.0.1:1", make_model("one").facts(), options=options)

    assert "limbeck, tei" in refused.value.advice


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, "fallback_format"),
        ({"fallback_key_from": "NO_SUCH_KEY"}, "variable that holds the key"),
        ({"fallback_format": "kserve"}, "Name it with fallback_model."),
        ({"fallback_timeout": -1}, "default of a server"),
    ],
)
def test_in_python_options_are_called_as_in_python(
    server: ScriptedServer, make_model: MakeModel, options: dict[str, Any], advice: str
) -> None:
    with pytest.raises(limbeck.LimbeckError) as refused:
        limbeck.load(make_model("one").folder, fallback=speaking(server, {}), threshold=0.5, **options)

    assert advice in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("answers", "reason", "advice"),
    [
        ({}, "it answers at none of /model", "--fallback-format"),
        ({"GET /model": Fault("status", status=401)}, "the status 401", "--fallback-key-from"),
        ({"GET /model": {**MODEL, "labels": ["positive", "neutral"]}}, "does not have negative", "same labels"),
        ({"GET /model": {**MODEL, "pair": True}}, "two texts per row", "same task"),
        ({"GET /model": {**MODEL, "multi_label": True}}, "several labels", "same task"),
        ({**SERVERS["tei"], "POST /predict": [[{"label": "LABEL_0", "score": 1.0}]]}, "LABEL_0", "same task"),
        ({**SERVERS["tei"], "POST /predict": Fault("status")}, "the status 500", "same task"),
        ({"GET /v2/health/live": b""}, "the name of a model is needed", "--fallback-model"),
        ({"GET /v1/models": {"data": [{"id": "a"}, {"id": "b"}]}}, "it has a, b", "--fallback-model"),
    ],
)
def test_a_server_that_cannot_take_the_place_is_refused(
    server: ScriptedServer, make_model: MakeModel, answers: dict[str, Any], reason: str, advice: str
) -> None:
    url = speaking(server, answers)

    with pytest.raises(FallbackUnusable, match=reason) as refused:
        open_fallback(url, make_model("one").facts())

    assert advice in refused.value.advice


def test_nobody_there_is_refused_unless_the_format_is_said(server: ScriptedServer, make_model: MakeModel) -> None:
    url, facts = server.url, make_model("one").facts()
    server.close()

    with pytest.raises(FallbackUnusable, match=r"not known which format it speaks: .*refused"):
        open_fallback(url, facts)

    assert isinstance(open_fallback(url, facts, options=FallbackOptions("limbeck")), ServerFallback)


def test_vllm_has_no_pairs(server: ScriptedServer, make_model: MakeModel) -> None:
    facts = with_facts(make_model("one"), pair=True).facts()

    with pytest.raises(FallbackUnusable, match="no pairs of texts"):
        open_fallback(server.url, facts, options=FallbackOptions("vllm"))


def test_the_key_comes_from_a_named_variable(
    server: ScriptedServer, make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALLBACK_KEY", " sk-secret\n")
    speaking(server, SERVERS["limbeck"])

    open_fallback(server.url, make_model("one").facts(), options=FallbackOptions(key_from="FALLBACK_KEY"))

    assert server.headers[0]["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize(("value", "state"), [("", "is not set"), ("sk secret", "has characters that no key has")])
def test_a_variable_without_a_key_is_refused_and_not_shown(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch, value: str, state: str
) -> None:
    monkeypatch.setenv("FALLBACK_KEY", value)

    with pytest.raises(FallbackUnusable, match=state) as refused:
        open_fallback("http://127.0.0.1:1", make_model("one").facts(), options=FallbackOptions(key_from="FALLBACK_KEY"))

    assert "secret" not in str(refused.value)


def test_a_folder_is_a_model_with_the_same_labels_in_any_order(make_model: MakeModel) -> None:
    other = with_facts(make_model("other", weight=3.0), labels=["positive", "negative"])

    fallback = open_fallback(other.folder, make_model("one").facts())

    assert isinstance(fallback, LocalFallback)
    expected = limbeck.load(other.folder).predict_proba(["gorgeous"])[:, ::-1]
    np.testing.assert_array_equal(fallback.predict_proba(["gorgeous"]), expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": ["negative", "good"]}, "it does not have positive; the student does not have good"),
        ({"multi_label": True}, "it gives several labels"),
    ],
)
def test_a_folder_that_cannot_take_the_place_is_refused(
    make_model: MakeModel, changes: dict[str, Any], reason: str
) -> None:
    other = with_facts(make_model("other"), **changes)

    with pytest.raises(FallbackUnusable, match=reason):
        open_fallback(other.folder, make_model("one").facts())


def test_a_folder_without_a_model_is_refused_with_where_a_teacher_is(make_model: MakeModel, tmp_path: Path) -> None:
    with pytest.raises(FallbackUnusable, match="it is not a model") as refused:
        open_fallback(tmp_path, make_model("one").facts())

    assert 'teacher = "int8"' in refused.value.advice


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_a_number_of_seconds(make_model: MakeModel, timeout: float) -> None:
    with pytest.raises(ValueError, match="fallback-timeout"):
        open_fallback("http://127.0.0.1:1", make_model("one").facts(), options=FallbackOptions(timeout=timeout))
