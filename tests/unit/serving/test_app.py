import json
import re
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from starlette.testclient import TestClient

import limbeck
from limbeck.artifacts.model_folder import ModelFacts, open_model
from limbeck.runtime.classifier import load
from limbeck.runtime.row import Row
from limbeck.serving.app import create_app
from limbeck.serving.limits import STANDARD_LIMITS
from limbeck.serving.served_models import ServedModel, ServedModels
from limbeck.serving.settings import ServerSettings

ToyRows = tuple[tuple[str, str], ...]
JSON = {"content-type": "application/json"}
PATIENCE = 20  # seconds, where a failing test would otherwise wait for ever


class FakeClassifier:
    """Says the length of the text is the probability of "long"; a subclass waits or fails meanwhile."""

    labels: Sequence[str] = ("short", "long")
    engine = "a ruler"

    def __init__(self) -> None:
        self.facts = ModelFacts(
            name="fake", kind="fake", precision="fp32", labels=list(self.labels), language="en", pair=False,
            max_length=8, parameters=2, parameters_without_embeddings=1,
        )  # fmt: skip

    def logits(self, rows: Iterable[Row]) -> npt.NDArray[np.float32]:
        self.happens()
        return np.log(np.array([[1 - len(row) / 100, len(row) / 100] for row in rows], dtype=np.float32))

    def happens(self) -> None:
        """What goes on while the model works."""


def served(classifier: Any, *, threads: int = 1) -> TestClient:
    return TestClient(
        create_app(
            ServedModels([ServedModel("fake", classifier, size_mb=0.1)]), settings=ServerSettings(threads=threads)
        ),
        raise_server_exceptions=False,
    )


def ask(client: TestClient, *texts: str) -> Any:
    return client.post("/predict", json={"texts": texts})


def test_answers_are_those_of_the_classifier_in_the_order_asked(
    client: TestClient, model_folder: Path, toy_rows: ToyRows
) -> None:
    model, texts = load(model_folder), [text for text, _ in toy_rows]

    answer = ask(client, *texts).json()

    predictions = answer["predictions"]
    assert [prediction["label"] for prediction in predictions] == model.predict(texts)
    assert {tuple(prediction["probabilities"]) for prediction in predictions} == {tuple(model.labels)}
    found = [list(prediction["probabilities"].values()) for prediction in predictions]
    np.testing.assert_allclose(found, model.predict_proba(texts), atol=1e-6)
    assert answer["milliseconds"] > 0


def test_rows_without_a_pair_are_texts(client: TestClient) -> None:
    as_texts = ask(client, "a gorgeous film", "a dreadful story").json()

    as_rows = client.post("/predict", json={"rows": [{"text": "a gorgeous film"}, {"text": "a dreadful story"}]}).json()

    assert as_rows["predictions"] == as_texts["predictions"]


def test_pairs_are_answered_and_are_not_the_same_the_other_way_round(
    pair_client: TestClient, pair_model_folder: Path, toy_rows: ToyRows
) -> None:
    pairs = [(first, second) for (first, _), (second, _) in zip(toy_rows[:20], toy_rows[20:40], strict=True)]

    rows = [{"text": text, "pair": other} for text, other in pairs]
    predictions = pair_client.post("/predict", json={"rows": rows}).json()["predictions"]

    found = [list(prediction["probabilities"].values()) for prediction in predictions]
    model = load(pair_model_folder)
    np.testing.assert_allclose(found, model.predict_proba(pairs), atol=1e-6)
    assert np.abs(np.array(found) - model.predict_proba([(other, text) for text, other in pairs])).max() > 0.01


def test_a_text_that_may_have_several_labels_gets_a_list_of_them(
    multi_label_client: TestClient, multi_label_folder: Path, toy_rows: ToyRows
) -> None:
    model, texts = load(multi_label_folder), [text for text, _ in toy_rows]

    predictions = ask(multi_label_client, *texts).json()["predictions"]

    assert {tuple(prediction) for prediction in predictions} == {("labels", "probabilities")}
    assert [prediction["labels"] for prediction in predictions] == model.predict(texts)
    found = [list(prediction["probabilities"].values()) for prediction in predictions]
    np.testing.assert_allclose(found, model.predict_proba(texts), atol=1e-6)
    assert {len(prediction["labels"]) for prediction in predictions} >= {0, 1, 2}


def test_no_rows_get_no_answers(client: TestClient) -> None:
    response = ask(client)

    assert response.status_code == 200
    assert response.json()["predictions"] == []


@pytest.mark.parametrize("text", ["", "   ", "🙂🙃", "电影很好看", "\x00", "film\r\n\tscene", "<b>&amp;</b>", '"\\'])
def test_no_text_is_too_strange_to_have_an_answer(client: TestClient, model_folder: Path, text: str) -> None:
    answer = ask(client, text).json()

    assert answer["predictions"][0]["label"] == load(model_folder).predict([text])[0]


def test_odd_texts_are_answered_as_the_classifier_answers_them(
    client: TestClient, model_folder: Path, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    texts = [text for text in [*odd_texts.values(), *half_texts.values()] if len(text) <= STANDARD_LIMITS.characters]

    # As other programs write JSON: every character beyond ASCII escaped, half ones too.
    response = client.post("/predict", content=json.dumps({"texts": texts}), headers=JSON)

    assert response.status_code == 200
    answers = [prediction["label"] for prediction in response.json()["predictions"]]
    assert answers == [load(model_folder).predict([text])[0] for text in texts]


def test_a_text_of_a_megabyte_is_refused_and_not_repeated(
    client: TestClient, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    for name, text in (odd_texts | half_texts).items():
        if len(text) > STANDARD_LIMITS.characters:
            response = client.post("/predict", content=json.dumps({"texts": [text]}), headers=JSON)

            assert response.status_code == 413, name
            assert len(response.text) < 200, name


@pytest.mark.parametrize("body", [b'{"texts": ["film \\ud83d"]}', b'{"rows": [{"text": "film \\ud83d"}]}'])
def test_half_an_emoji_has_an_answer(client: TestClient, body: bytes) -> None:
    """A browser sends one when a text was cut between its two halves."""
    response = client.post("/predict", content=body, headers={"content-type": "application/json"})

    assert response.status_code == 200


def test_many_threads_get_the_same_answers(client: TestClient, toy_rows: ToyRows) -> None:
    texts = [text for text, _ in toy_rows[:16]]
    alone = [ask(client, text).json()["predictions"] for text in texts]

    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda text: ask(client, text).json()["predictions"], texts * 4))

    assert together == alone * 4


def test_health_is_answered_while_the_model_works() -> None:
    begun, finish = threading.Event(), threading.Event()

    class Slow(FakeClassifier):
        def happens(self) -> None:
            begun.set()
            assert finish.wait(PATIENCE)

    with served(Slow()) as client, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(ask, client, "text")
        assert begun.wait(PATIENCE)
        health = client.get("/health")
        was_still_working = not slow.done()
        finish.set()

    assert health.status_code == slow.result().status_code == 200
    assert was_still_working


def test_two_threads_work_on_two_requests_at_once() -> None:
    both = threading.Barrier(2, timeout=PATIENCE)

    class Meets(FakeClassifier):
        def happens(self) -> None:
            both.wait()

    with served(Meets(), threads=2) as client, ThreadPoolExecutor(2) as pool:
        statuses = [response.status_code for response in pool.map(lambda text: ask(client, text), ["one", "two"])]

    assert statuses == [200, 200]


def test_one_thread_works_on_one_request_at_a_time() -> None:
    alone = threading.Lock()

    class Jealous(FakeClassifier):
        def happens(self) -> None:
            assert alone.acquire(blocking=False)
            np.sort(np.random.default_rng(0).random(100_000))  # takes a moment, and lets other threads run
            alone.release()

    with served(Jealous()) as client, ThreadPoolExecutor(8) as pool:
        statuses = {response.status_code for response in pool.map(lambda text: ask(client, text), ["text"] * 24)}

    assert statuses == {200}


def test_health_names_the_model_and_the_version(client: TestClient) -> None:
    assert client.get("/health").json() == {"ready": True, "model": "bilstm", "version": limbeck.__version__}


def test_model_tells_what_it_is_and_how_much_it_takes(client: TestClient, model_folder: Path) -> None:
    facts = client.get("/model").json()

    assert facts["labels"] == ["negative", "neutral", "positive"]
    assert (facts["kind"], facts["precision"], facts["pair"]) == ("bilstm", "fp32", False)
    assert (facts["parameters"], facts["size_mb"]) == (1_000, round(open_model(model_folder).size_mb(), 3))
    assert (facts["default"], facts["examples"], facts["fallback"]) == (True, [], None)
    assert facts["multi_label"] is False
    assert facts["engine"] == load(model_folder).engine
    assert (facts["max_rows"], facts["max_characters"]) == (1_000, 100_000)


def test_model_tells_that_a_text_may_have_several_labels(multi_label_client: TestClient) -> None:
    assert multi_label_client.get("/model").json()["multi_label"] is True


def test_a_fault_of_ours_is_a_500_without_details() -> None:
    class Broken(FakeClassifier):
        def happens(self) -> None:
            raise RuntimeError("a secret of the machine")

    with served(Broken()) as client:
        response = ask(client, "text")
        errors = client.get("/metrics").text

    assert response.status_code == 500
    assert "secret" not in response.text
    assert 'limbeck_errors_total{path="/predict",status="500"} 1.0' in errors


def test_another_address_and_another_method_are_told_what_there_is(client: TestClient) -> None:
    nowhere, other = client.get("/nowhere"), client.get("/predict")

    assert (nowhere.status_code, other.status_code) == (404, 405)
    assert "/openapi.json" in nowhere.json()["detail"]
    assert other.json()["detail"] == "this address takes POST"


def test_the_description_tells_what_predict_takes_and_refuses(client: TestClient) -> None:
    description = client.get("/openapi.json").json()

    predict = description["paths"]["/predict"]["post"]
    taken = predict["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    assert taken == [{"$ref": f"#/components/schemas/{name}"} for name in ("Question", "TeiQuestion")]
    assert set(predict["responses"]) == {"200", "400", "404", "413", "415", "422", "429", "503"}
    assert set(description["paths"]) >= {"/predict", "/v1/classify", "/v2/models/{name}/infer", "/health", "/metrics"}


def test_the_description_has_every_address_and_no_other(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]

    found = {(path, method) for path, methods in paths.items() for method in methods}

    routes = [route for route in client.app.routes if route.path != "/openapi.json"]  # type: ignore[attr-defined]
    known = {(route.path, method.lower()) for route in routes for method in route.methods if method != "HEAD"}
    assert found == known


def test_every_reference_of_the_description_leads_somewhere(client: TestClient) -> None:
    text = client.get("/openapi.json").text

    wanted = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert wanted <= set(json.loads(text)["components"]["schemas"])


def test_the_description_tells_what_this_model_answers(client: TestClient, multi_label_client: TestClient) -> None:
    """One server has one model: the other kind of answer is not even mentioned."""
    keys = {}
    for kind, server in (("one", client), ("several", multi_label_client)):
        description = server.get("/openapi.json").json()
        schemas = description["components"]["schemas"]
        answer = description["paths"]["/predict"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        own, _ = answer["oneOf"]
        rows = schemas[own["$ref"].rpartition("/")[2]]["properties"]["predictions"]["items"]
        keys[kind] = set(schemas[rows["$ref"].rpartition("/")[2]]["required"])
        said = ask(server, "a film").json()["predictions"][0]
        assert set(said) == keys[kind]

    assert keys == {"one": {"label", "probabilities"}, "several": {"labels", "probabilities"}}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/favicon.ico"])
def test_pages_that_would_load_scripts_from_elsewhere_are_not_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_other_sites_get_no_leave_to_read_answers(client: TestClient) -> None:
    response = client.post("/predict", json={"texts": ["a film"]}, headers={"origin": "null"})

    assert not [name for name in response.headers if name.startswith("access-control")]
