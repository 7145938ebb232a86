"""What a question meets on its way: the model it names, the fallback, an explanation, metrics, drift."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from starlette.testclient import TestClient

from limbeck.artifacts.model_folder import ModelFacts
from limbeck.artifacts.model_profile import BINS, QUANTILES, ModelProfile
from limbeck.runtime.cascade import Cascade
from limbeck.runtime.circuit_breaker import CircuitBreaker
from limbeck.runtime.classifier import load
from limbeck.runtime.fallbacks.fallback import FallbackFailed
from limbeck.runtime.row import Row
from limbeck.serving.app import create_app
from limbeck.serving.served_models import ModelSource, ServedModel, ServedModels
from limbeck.serving.settings import ServerSettings
from limbeck.serving.work_queue import QueueLimits

TEXTS = ["a gorgeous film", "a dreadful story", "film scene actor"]


class Certain:
    """A fallback that always says the last label, or fails."""

    name, slow_seconds, rows_at_once = "certain", None, None

    def __init__(self, labels: int) -> None:
        self.labels, self.fails = labels, False
        self.asked: list[list[Row]] = []

    def close(self) -> None:
        """Nothing is open."""

    def predict_proba(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        self.asked.append(rows)
        if self.fails:
            raise FallbackFailed(name=self.name, reason="it is down")
        return np.tile(np.eye(self.labels, dtype=np.float32)[-1], (len(rows), 1))


@contextmanager
def talking(*models: ServedModel, settings: ServerSettings | None = None) -> Iterator[TestClient]:
    with TestClient(create_app(ServedModels(models), settings=settings)) as client:
        yield client


def with_fallback(
    folder: Path, *, threshold: float, breaker: CircuitBreaker | None = None
) -> tuple[ServedModel, Certain]:
    student = load(folder)
    fallback = Certain(len(student.labels))
    cascade = Cascade(student, fallback, threshold=threshold, breaker=breaker)
    return ServedModel("student", student, size_mb=1, cascade=cascade), fallback


def numbers(client: TestClient) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def test_a_model_answers_by_name_in_every_way_of_naming_it(model_folder: Path, multi_label_folder: Path) -> None:
    models = ServedModels.open([ModelSource(model_folder, "mood"), ModelSource(multi_label_folder, "topic")])
    with TestClient(create_app(models)) as client:
        default = client.post("/predict", json={"texts": TEXTS}).json()
        by_body = client.post("/predict", json={"texts": TEXTS, "model": "topic"}).json()
        by_address = client.post("/models/topic/predict", json={"texts": TEXTS}).json()
        names = [model["name"] for model in client.get("/models").json()]
        unknown = client.post("/predict", json={"texts": TEXTS, "model": "topics"})
        nowhere = client.get("/models/nix")
        found = numbers(client)

    assert {"label"} <= set(default["predictions"][0])
    assert {"labels"} <= set(by_body["predictions"][0])
    assert by_body["predictions"] == by_address["predictions"]
    assert names == ["mood", "topic"]
    assert (unknown.status_code, nowhere.status_code) == (404, 404)
    assert "did you mean 'topic'?" in unknown.json()["detail"]
    assert found['limbeck_rows_total{model="mood"}'] == 3
    assert found['limbeck_rows_total{model="topic"}'] == 6


def test_the_fallback_answers_what_the_student_is_unsure_of_and_the_answer_says_so(model_folder: Path) -> None:
    sure = load(model_folder).predict_proba(TEXTS).max(axis=1)
    threshold = float(np.sort(sure)[:2].mean())  # one text below it
    model, fallback = with_fallback(model_folder, threshold=threshold)
    with talking(model) as client:
        response = client.post("/predict", json={"texts": TEXTS})
        found = numbers(client)

    predictions = response.json()["predictions"]
    unsure = int(sure.argmin())
    assert [prediction["answered_by"] for prediction in predictions].count("fallback") == 1
    assert predictions[unsure]["answered_by"] == "fallback"
    assert predictions[unsure]["label"] == load(model_folder).labels[-1]
    assert fallback.asked == [[TEXTS[unsure]]]
    assert response.headers["x-answered-by"] == "student=2, fallback=1"
    assert found['limbeck_answered_rows_total{by="fallback",model="student"}'] == 1
    assert found['limbeck_answered_rows_total{by="student",model="student"}'] == 2
    assert found['limbeck_rows_total{model="student"}'] == 3
    assert found['limbeck_model_seconds_count{by="fallback",model="student"}'] == 1


def test_every_format_says_in_a_header_who_answered(model_folder: Path) -> None:
    model, _ = with_fallback(model_folder, threshold=1.0)
    with talking(model) as client:
        questions = {"/": {"inputs": "film"}, "/v1/classify": {"input": "film"}, "/predict": {"inputs": ["film"]}}
        found = {path: client.post(path, json=asked).headers["x-answered-by"] for path, asked in questions.items()}

    assert set(found.values()) == {"student=0, fallback=1"}


def test_a_fallback_that_is_down_is_left_alone_for_a_while_and_the_student_answers(model_folder: Path) -> None:
    model, fallback = with_fallback(model_folder, threshold=1.0, breaker=CircuitBreaker(failures=2))
    fallback.fails = True
    with talking(model) as client:
        answers = [client.post("/predict", json={"texts": ["film"]}).json() for _ in range(5)]
        failures = numbers(client)['limbeck_fallback_failures_total{model="student"}']

    assert len(fallback.asked) == 2
    assert failures == 2
    assert all(answer["predictions"][0]["answered_by"] == "student" for answer in answers)
    assert all("the student answered" in answer["note"] for answer in answers)
    assert [answer["predictions"][0]["label"] for answer in answers] == load(model_folder).predict(["film"]) * 5


def test_sure_texts_are_answered_while_the_fallback_takes_its_time(model_folder: Path) -> None:
    sure = load(model_folder).predict_proba(TEXTS).max(axis=1)
    model, fallback = with_fallback(model_folder, threshold=float(np.sort(sure)[:2].mean()))
    asked, released, said = threading.Event(), threading.Event(), []

    def slow(rows: list[Row]) -> npt.NDArray[np.float32]:
        asked.set()
        assert released.wait(20)
        return np.tile(np.eye(fallback.labels, dtype=np.float32)[-1], (len(rows), 1))

    fallback.predict_proba = slow  # type: ignore[method-assign]
    with talking(model) as client:
        waiting = threading.Thread(
            target=lambda: said.append(client.post("/predict", json={"texts": [TEXTS[sure.argmin()]]}).json())
        )
        waiting.start()
        assert asked.wait(20)
        quick = client.post("/predict", json={"texts": [TEXTS[sure.argmax()]]}).json()
        assert not said
        released.set()
        waiting.join(20)

    assert quick["predictions"][0]["answered_by"] == "student"
    assert said[0]["predictions"][0]["answered_by"] == "fallback"


@pytest.mark.parametrize("folder", ["model_folder", "multi_label_folder"])
def test_an_explanation_joins_to_the_text(folder: str, request: pytest.FixtureRequest) -> None:
    models = ServedModels.open([ModelSource(request.getfixturevalue(folder))])
    with TestClient(create_app(models)) as client:
        answer = client.post("/predict", json={"texts": TEXTS, "explain": True}).json()

    found = [prediction["explanation"] for prediction in answer["predictions"]]
    assert ["".join(piece["piece"] for piece in pieces) for pieces in found] == TEXTS
    assert all(any(piece["effect"] for piece in pieces) for pieces in found)


def test_both_texts_of_a_pair_are_explained(pair_model_folder: Path) -> None:
    with TestClient(create_app(ServedModels.open([ModelSource(pair_model_folder)]))) as client:
        question = {"rows": [{"text": TEXTS[0], "pair": TEXTS[1]}], "explain": True}
        (prediction,) = client.post("/predict", json=question).json()["predictions"]

    pieces = {name: "".join(piece["piece"] for piece in its) for name, its in prediction["explanation"].items()}
    assert pieces == {"text": TEXTS[0], "pair": TEXTS[1]}


def test_explanations_are_dear_so_only_a_few_are_given_at_a_time(client: TestClient) -> None:
    response = client.post("/predict", json={"texts": ["film"] * 17, "explain": True})
    none = client.post("/predict", json={"texts": [], "explain": True})

    assert response.status_code == 413
    assert "at most 16 rows" in response.json()["detail"]
    assert none.json()["predictions"] == []


def test_a_refusal_in_overload_is_counted_and_says_when_to_come_back(model_folder: Path) -> None:
    model = ServedModels.open([ModelSource(model_folder)])
    with TestClient(create_app(model, settings=ServerSettings(queue=QueueLimits(jobs=0)))) as client:
        response = client.post("/predict", json={"texts": ["film"]})
        ready = client.get("/readyz")
        alive = client.get("/livez")
        found = numbers(client)

    assert response.status_code == 429
    assert int(response.headers["retry-after"]) >= 1
    assert (ready.status_code, alive.status_code) == (503, 200)
    assert found['limbeck_refused_total{reason="overload"}'] == 1
    assert found['limbeck_errors_total{path="/predict",status="429"}'] == 1


def test_in_overload_nobody_reads_what_will_be_refused(model_folder: Path) -> None:
    """At ten times the load a server read every body first, and had no time left for anything else."""
    model = ServedModels.open([ModelSource(model_folder)])
    app = create_app(model, settings=ServerSettings(queue=QueueLimits(jobs=1)))
    with TestClient(app) as client:
        idle = client.post("/predict", content=b"no JSON", headers={"content-type": "application/json"})
        app.state.server.queue._open = 1
        busy = client.post("/predict", content=b"no JSON", headers={"content-type": "application/json"})
        app.state.server.queue._open = 0

    assert (idle.status_code, busy.status_code) == (400, 429)


class Ruler:
    """A model with two labels, whose folder does not matter."""

    engine, folder = "a ruler", Path()

    def __init__(self) -> None:
        self.facts = ModelFacts(
            name="ruler", kind="fake", precision="fp32", labels=["short", "long"], language="en", pair=False,
            max_length=8, parameters=2, parameters_without_embeddings=1,
        )  # fmt: skip

    def logits(self, rows: Iterable[Row]) -> npt.NDArray[np.float32]:
        return np.array([[5 - len(row), len(row) - 5] for row in rows], dtype=np.float32)


def profile(**changes: Any) -> ModelProfile:
    values: dict[str, Any] = {
        "rows": 100,
        "confidence_quantiles": tuple(np.linspace(0.5, 1, QUANTILES).tolist()),
        "confidence_histogram": (0.1,) * BINS,
        "label_shares": (0.5, 0.5),
        "unknown_words": 0.25,
        "cascade": None,
        "examples": ("one", "a longer one"),
    }
    return ModelProfile(**{**values, **changes})


def test_shares_of_labels_are_compared_with_train() -> None:
    model = ServedModel("ruler", Ruler(), size_mb=1, profile=profile())
    with talking(model) as client:
        client.post("/predict", json={"texts": ["long long text"] * 8 + ["a"] * 2})
        drift = client.app.state.server.drift  # type: ignore[attr-defined]
        drift.update(drift.totals())
        found = numbers(client)

    assert found['limbeck_label_share{label="long",model="ruler"}'] == 0.8
    assert found['limbeck_label_share_train{label="long",model="ruler"}'] == 0.5
    assert found['limbeck_label_shift{model="ruler"}'] == pytest.approx(0.3)
    assert found['limbeck_unknown_words_share_dev{model="ruler"}'] == 0.25
    assert found['limbeck_confidence_count{model="ruler"}'] == 10


def test_unknown_words_are_counted_in_a_sample_of_texts(model_folder: Path) -> None:
    with TestClient(create_app(ServedModels.open([ModelSource(model_folder)]))) as client:
        client.post("/predict", json={"texts": ["film scene actor", "xyzzy plugh film"] * 100})
        drift = client.app.state.server.drift  # type: ignore[attr-defined]
        drift.update(drift.totals())
        found = numbers(client)

    assert 0 < found['limbeck_words_total{model="bilstm"}'] <= 3 * 20
    assert found['limbeck_unknown_words_share{model="bilstm"}'] == pytest.approx(1 / 3, abs=0.01)


def test_examples_of_the_folder_are_shown_with_the_facts() -> None:
    with talking(ServedModel("ruler", Ruler(), size_mb=1, profile=profile())) as client:
        facts = client.get("/model").json()

    assert facts["examples"] == ["one", "a longer one"]


def test_tokens_are_counted_where_a_format_has_a_place_for_them(client: TestClient) -> None:
    usage = client.post("/v1/classify", json={"input": ["film scene actor", "film"]}).json()["usage"]

    assert usage["prompt_tokens"] == usage["total_tokens"] == 4


def test_a_large_question_is_answered_as_a_small_one_is(client: TestClient, model_folder: Path) -> None:
    texts = [f"film scene {number} " + "actor " * 20 for number in range(1_000)]

    response = client.post(
        "/predict", content=json.dumps({"texts": texts}), headers={"content-type": "application/json"}
    )

    found = [list(prediction["probabilities"].values()) for prediction in response.json()["predictions"]]
    np.testing.assert_allclose(found, load(model_folder).predict_proba(texts), atol=2e-6)


def test_a_question_is_answered_by_the_model_that_it_was_read_for(model_folder: Path) -> None:
    """Another one takes its name between reading and answering, with its labels the other way round."""
    model = ServedModels.open([ModelSource(model_folder)])
    other = load(model_folder)
    other.facts = replace(other.facts, labels=other.facts.labels[::-1])
    expected = load(model_folder).predict(TEXTS)
    with TestClient(create_app(model)) as client:
        by_name = model.by_name

        def swapping(name: str | None) -> ServedModel:
            found = by_name(name)
            model._models = {found.name: ServedModel(found.name, other, size_mb=1)}
            return found

        model.by_name = swapping  # type: ignore[method-assign]
        answer = client.post("/predict", json={"texts": TEXTS}).json()

    assert [prediction["label"] for prediction in answer["predictions"]] == expected


def test_the_description_follows_the_models(model_folder: Path, multi_label_folder: Path) -> None:
    models = ServedModels.open([ModelSource(model_folder, "one")])
    with TestClient(create_app(models)) as client:
        before = client.get("/openapi.json").json()
        models._models = dict(ServedModels.open([ModelSource(multi_label_folder, "two")])._models)
        after = client.get("/openapi.json").json()
        models._models |= ServedModels.open([ModelSource(model_folder, "one")])._models
        both = client.get("/openapi.json").json()

    def answers(description: Any) -> set[str]:
        schema = description["paths"]["/predict"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        return {one["$ref"].rpartition("/")[2] for one in schema["oneOf"]} - {"TeiAnswer"}

    assert (before["info"]["title"], after["info"]["title"]) == ("Limbeck: one", "Limbeck: two")
    assert answers(before) == {"PredictAnswer"}
    assert answers(after) == {"MultiLabelPredictAnswer"}
    assert answers(both) == {"PredictAnswer", "MultiLabelPredictAnswer"}


def test_gauges_of_a_model_that_is_gone_are_gone(model_folder: Path) -> None:
    models = ServedModels.open([ModelSource(model_folder, "old")])
    with TestClient(create_app(models)) as client:
        parts = client.app.state.server  # type: ignore[attr-defined]
        client.post("/predict", json={"texts": TEXTS})
        parts.drift.update(parts.drift.totals())
        assert any("label_share" in name and "old" in name for name in numbers(client))
        models._models = dict(ServedModels.open([ModelSource(model_folder, "new")])._models)
        parts.metrics.describe(models)
        found = numbers(client)

    assert not any("label_share" in name and "old" in name for name in found)
    assert any(name.startswith("limbeck_model_info{") and "new" in name for name in found)
