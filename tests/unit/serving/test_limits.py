import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from limbeck.serving.app import create_app
from limbeck.serving.limits import Limits
from limbeck.serving.served_models import ModelSource, ServedModels
from limbeck.serving.settings import ServerSettings

JSON = {"content-type": "application/json"}
MOST = 100


@pytest.fixture
def small_client(model_folder: Path) -> Iterator[TestClient]:
    """Speaks to a server that takes bodies of at most 100 bytes."""
    with TestClient(
        create_app(
            ServedModels.open([ModelSource(model_folder)]), settings=ServerSettings(limits=Limits(body_bytes=MOST))
        )
    ) as client:
        yield client


def body_of(size: int) -> bytes:
    """A question of exactly so many bytes."""
    return json.dumps({"texts": ["x" * (size - len('{"texts": [""]}'))]}).encode()


def in_parts(body: bytes) -> Iterator[bytes]:
    """The body without a length announced."""
    for start in range(0, len(body), 7):
        yield body[start : start + 7]


def test_a_body_of_the_largest_size_is_answered(small_client: TestClient) -> None:
    body = body_of(MOST)

    whole = small_client.post("/predict", content=body, headers=JSON)
    parts = small_client.post("/predict", content=in_parts(body), headers=JSON)

    assert len(body) == MOST
    assert whole.status_code == parts.status_code == 200
    assert whole.json()["predictions"] == parts.json()["predictions"]


def test_a_larger_body_is_refused_by_the_length_it_announces(small_client: TestClient) -> None:
    response = small_client.post("/predict", content=body_of(MOST + 1), headers=JSON)

    assert response.status_code == 413
    assert response.json()["detail"] == "the body is larger than 100 bytes; send fewer rows in one request"
    assert response.headers["connection"] == "close"


def test_a_larger_body_is_refused_when_it_announces_no_length(small_client: TestClient) -> None:
    response = small_client.post("/predict", content=in_parts(body_of(MOST + 1)), headers=JSON)

    assert response.status_code == 413
    assert "larger than 100 bytes" in response.json()["detail"]


def test_a_length_that_is_no_number_is_not_believed(small_client: TestClient) -> None:
    response = small_client.post(
        "/predict", content=in_parts(body_of(MOST + 1)), headers={**JSON, "content-length": "many"}
    )

    assert response.status_code == 413


def test_the_server_goes_on_after_a_refusal(small_client: TestClient) -> None:
    small_client.post("/predict", content=body_of(5_000), headers=JSON)

    assert small_client.post("/predict", content=body_of(50), headers=JSON).status_code == 200
