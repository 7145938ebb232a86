"""The clients that people have already, against a server in another process."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import openai
import pytest
import tritonclient.http as triton
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from tritonclient.utils import InferenceServerException

from limbeck.runtime.classifier import Classifier, load

PATIENCE = 60  # seconds for an answer that would otherwise never come
TEXTS = ["a gorgeous film", "a dreadful story", "电影 🙂"]
PAIRS = [("a gorgeous film", "a dreadful story"), ("a dreadful story", "a gorgeous film")]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the model, in a process of its own, which is ended afterwards."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "limbeck", "serve", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    guard = threading.Timer(5 * PATIENCE, process.kill)
    guard.start()
    try:
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    finally:
        guard.cancel()
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


@pytest.fixture(scope="module")
def server(model_folder: Path) -> Iterator[str]:
    """The address of a server of the model of single texts."""
    with served(model_folder) as address:
        yield address


@pytest.fixture(scope="module")
def pair_server(pair_model_folder: Path) -> Iterator[str]:
    """The address of a server of the model of pairs."""
    with served(pair_model_folder) as address:
        yield address


@pytest.fixture(scope="module")
def model(model_folder: Path) -> Classifier:
    """The model of single texts in this process, to compare with."""
    return load(model_folder)


@pytest.fixture(scope="module")
def pair_model(pair_model_folder: Path) -> Classifier:
    """The model of pairs in this process, to compare with."""
    return load(pair_model_folder)


@pytest.fixture
def triton_client(server: str) -> Iterator[Any]:
    """Triton's own client of the server of single texts."""
    client = triton.InferenceServerClient(server.removeprefix("http://"), network_timeout=PATIENCE)
    yield client
    client.close()


def post(address: str, question: Any) -> Any:
    """What a client without a library gets."""
    body = json.dumps(question).encode()
    with urlopen(Request(address, body, {"content-type": "application/json"}), timeout=PATIENCE) as response:
        return json.load(response)


def probabilities_of(elements: list[dict[str, Any]], labels: Any) -> list[float]:
    """Scores in the order of the model's labels."""
    scores = {element["label"]: element["score"] for element in elements}
    return [scores[label] for label in labels]


@pytest.fixture
def hugging_face(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], InferenceClient]:
    """hugging_face(address): Hugging Face's client. Offline, as all tests are, it would refuse this machine too."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return lambda address: InferenceClient(model=address, token="none", timeout=PATIENCE)


def test_hugging_face_client_classifies_a_text(
    hugging_face: Callable[[str], InferenceClient], server: str, model: Classifier
) -> None:
    client = hugging_face(server)

    for text in TEXTS:
        elements = client.text_classification(text)

        assert elements[0].label == model.predict([text])[0]
        scores = [element.score for element in elements]
        assert scores == sorted(scores, reverse=True)
        found = probabilities_of([dict(label=one.label, score=one.score) for one in elements], model.labels)
        np.testing.assert_allclose(found, model.predict_proba([text])[0], atol=1e-6)


def test_hugging_face_client_asks_for_the_best_label_and_for_other_functions(
    hugging_face: Callable[[str], InferenceClient], server: str
) -> None:
    client = hugging_face(server)

    best = client.text_classification(TEXTS[0], top_k=1)
    raw = client.text_classification(TEXTS[0], function_to_apply="none")

    assert len(best) == 1
    assert raw[0].label == best[0].label
    assert sum(element.score for element in raw) != pytest.approx(1)


def test_hugging_face_client_shows_the_sentence_of_a_refusal(
    hugging_face: Callable[[str], InferenceClient], pair_server: str
) -> None:
    client = hugging_face(pair_server)

    with pytest.raises(HfHubHTTPError) as caught:
        client.text_classification("a text alone")

    assert caught.value.response.status_code == 422
    assert "this model reads two texts per row" in caught.value.response.json()["error"]


def test_tei_two_texts_are_two_texts_or_one_pair(
    server: str, pair_server: str, model: Classifier, pair_model: Classifier
) -> None:
    two = post(f"{server}/predict", {"inputs": TEXTS[:2]})
    batch = post(f"{server}/predict", {"inputs": [[text] for text in TEXTS[:2]]})
    pair = post(f"{pair_server}/predict", {"inputs": list(PAIRS[0])})
    pairs = post(f"{pair_server}/predict", {"inputs": PAIRS, "raw_scores": False, "truncate": True})

    assert two == batch
    found = [probabilities_of(elements, model.labels) for elements in two]
    np.testing.assert_allclose(found, model.predict_proba(TEXTS[:2]), atol=1e-6)
    assert [element["label"] for element in pair] == [element["label"] for element in pairs[0]]
    found = [probabilities_of(elements, pair_model.labels) for elements in pairs]
    np.testing.assert_allclose(found, pair_model.predict_proba(PAIRS), atol=1e-6)


def test_tei_info_and_health(server: str, model: Classifier) -> None:
    with urlopen(f"{server}/info", timeout=PATIENCE) as response:
        info = json.load(response)
    with urlopen(f"{server}/health", timeout=PATIENCE) as response:
        assert response.status == 200

    assert info["model_id"] == model.facts.name
    assert list(info["model_type"]["classifier"]["id2label"].values()) == list(model.labels)


@pytest.fixture
def openai_client(server: str) -> Iterator[openai.OpenAI]:
    """OpenAI's client, with vLLM's prefix, which does not try again."""
    with openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        yield client


def test_openai_client_lists_the_models(openai_client: openai.OpenAI, model: Classifier) -> None:
    assert [card.id for card in openai_client.models.list()] == [model.facts.name]


def test_openai_client_classifies_as_with_vllm(openai_client: openai.OpenAI, model: Classifier) -> None:
    question = {"model": model.facts.name, "input": TEXTS}

    answer: Any = openai_client.post("/classify", body=question, cast_to=object)

    assert [item["label"] for item in answer["data"]] == model.predict(TEXTS)
    assert [item["index"] for item in answer["data"]] == [0, 1, 2]
    np.testing.assert_allclose([item["probs"] for item in answer["data"]], model.predict_proba(TEXTS), atol=1e-6)


def test_openai_client_knows_the_refusals(openai_client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        openai_client.post("/classify", body={"model": "another", "input": "a"}, cast_to=object)
    with pytest.raises(openai.UnprocessableEntityError, match="input: Field required"):
        openai_client.post("/classify", body={}, cast_to=object)


def test_vllm_without_the_prefix(server: str, model: Classifier) -> None:
    assert post(f"{server}/classify", {"input": TEXTS[0]})["data"][0]["label"] == model.predict(TEXTS[:1])[0]


def test_triton_client_sees_the_server_and_the_model(triton_client: Any, model: Classifier) -> None:
    name = model.facts.name

    assert triton_client.is_server_live()
    assert triton_client.is_server_ready()
    assert triton_client.is_model_ready(name)
    assert not triton_client.is_model_ready("another")
    assert triton_client.get_server_metadata()["extensions"] == ["binary_tensor_data"]
    metadata = triton_client.get_model_metadata(name)
    assert [tensor["name"] for tensor in metadata["inputs"]] == ["text"]
    assert metadata["outputs"][1]["shape"] == [-1, len(model.labels)]


def tensor(name: str, texts: Any, *, binary: bool) -> Any:
    """An input of Triton's client."""
    array = np.array(texts, dtype=np.object_)
    made = triton.InferInput(name, list(array.shape), "BYTES")
    made.set_data_from_numpy(array, binary_data=binary)
    return made


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False, None])
def test_triton_client_classifies(
    binary_in: bool, binary_out: bool | None, triton_client: Any, model: Classifier
) -> None:
    """Without requested outputs it asks for all of them in binary form."""
    names = ["label", "probabilities"]
    outputs = (
        None if binary_out is None else [triton.InferRequestedOutput(name, binary_data=binary_out) for name in names]
    )

    result = triton_client.infer(
        model.facts.name, [tensor("text", TEXTS, binary=binary_in)], outputs=outputs, request_id="42"
    )

    labels = [label.decode() if isinstance(label, bytes) else label for label in result.as_numpy("label")]
    assert labels == model.predict(TEXTS)
    probabilities = result.as_numpy("probabilities")
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities, model.predict_proba(TEXTS), atol=1e-6)
    assert result.get_response()["id"] == "42"


@pytest.mark.parametrize(
    "inputs",
    [
        lambda: [
            tensor("text", [one for one, _ in PAIRS], binary=True),
            tensor("pair", [other for _, other in PAIRS], binary=True),
        ],
        lambda: [
            tensor("text", [one for one, _ in PAIRS], binary=False),
            tensor("pair", [other for _, other in PAIRS], binary=True),
        ],
        lambda: [tensor("text", PAIRS, binary=True)],
        lambda: [tensor("text", PAIRS, binary=False)],
    ],
)
def test_triton_client_classifies_pairs(inputs: Callable[[], Any], pair_server: str, pair_model: Classifier) -> None:
    client = triton.InferenceServerClient(pair_server.removeprefix("http://"), network_timeout=PATIENCE)

    try:
        result = client.infer(pair_model.facts.name, inputs())
    finally:
        client.close()

    np.testing.assert_allclose(result.as_numpy("probabilities"), pair_model.predict_proba(PAIRS), atol=1e-6)


def test_triton_client_shows_the_sentence_of_a_refusal(triton_client: Any, model: Classifier) -> None:
    with pytest.raises(InferenceServerException, match="the outputs are 'label'"):
        triton_client.infer(
            model.facts.name,
            [tensor("text", TEXTS, binary=True)],
            outputs=[triton.InferRequestedOutput("logit")],
        )
    with pytest.raises(InferenceServerException, match="without 'content-encoding'"):
        triton_client.infer(
            model.facts.name, [tensor("text", TEXTS, binary=True)], request_compression_algorithm="gzip"
        )


def test_a_refusal_has_our_own_detail_too(server: str) -> None:
    with pytest.raises(HTTPError) as caught:
        post(f"{server}/predict", {"texts": [1]})

    with caught.value:
        assert caught.value.code == 422
        assert json.load(caught.value)["detail"] == "texts[0]: Input should be a valid string"
