import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from limbeck.serving.app import create_app
from limbeck.serving.limits import Limits
from limbeck.serving.served_models import ModelSource, ServedModels
from limbeck.serving.settings import ServerSettings

JSON = {"content-type": "application/json"}


@pytest.fixture
def narrow_client(model_folder: Path) -> Iterator[TestClient]:
    """Speaks to a server that takes three rows of ten characters."""
    with TestClient(
        create_app(
            ServedModels.open([ModelSource(model_folder)]),
            settings=ServerSettings(limits=Limits(rows=3, characters=10)),
        )
    ) as client:
        yield client


def refusal(client: TestClient, question: Any) -> tuple[int, str]:
    response = client.post("/predict", json=question)
    return response.status_code, response.json()["detail"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"texts": ["a film", 3]}, "texts[1]: Input should be a valid string"),
        ({"texts": [None]}, "texts[0]: Input should be a valid string"),
        ({"texts": [["a film"]]}, "texts[0]: Input should be a valid string"),
        ({"texts": "a film"}, "texts: Input should be a valid list"),
        ({"texts": {"0": "a film"}}, "texts: Input should be a valid list"),
        ({"text": ["a film"]}, "text: unknown key (did you mean 'texts'?)"),
        ({"rows": [{"texts": "a film"}]}, "rows[0].text: Field required"),
        ({"rows": [{"text": "a film", "pairs": ""}]}, "rows[0].pairs: unknown key (did you mean 'pair'?)"),
        ({"rows": ["a film"]}, "rows[0]: "),
        ({}, "give either 'texts' or 'rows'"),
        ({"texts": ["a film"], "rows": [{"text": "a film"}]}, "give either 'texts' or 'rows'"),
        ({"texts": None}, "give either 'texts' or 'rows'"),
        (["a film"], 'the body is not a question: send {"texts": ["…"]}'),
        ("a film", "the body is not a question"),
    ],
)
def test_what_is_no_question_is_refused_with_its_place(client: TestClient, question: Any, words: str) -> None:
    status, detail = refusal(client, question)

    assert status == 422
    assert words in detail


def test_many_problems_are_counted_and_three_are_shown(client: TestClient) -> None:
    _, detail = refusal(client, {"texts": [0] * 50})

    assert detail.count("Input should be") == 3
    assert detail.endswith("and 47 more")


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"texts": ["a film"', b"texts=a", b'{"texts": ["\xff"]}', b"[" * 100_000, b"{'texts': []}"]
)
def test_what_is_no_json_is_refused(client: TestClient, body: bytes) -> None:
    response = client.post("/predict", content=body, headers=JSON)

    assert response.status_code in (400, 413, 422)
    assert re.search("body|more than 11,000 values", response.json()["detail"])


def test_a_fault_in_the_json_is_reported_with_its_place(client: TestClient) -> None:
    response = client.post("/predict", content=b'{"texts": ["a" "b"]}', headers=JSON)

    assert response.status_code == 400
    assert response.json()["detail"] == "the body is not JSON: Expecting ',' delimiter at character 15"


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_json_that_does_not_say_so_is_refused_with_the_header_to_send(client: TestClient, content_type: str) -> None:
    response = client.post("/predict", content=b'{"texts": ["a film"]}', headers={"content-type": content_type})

    assert response.status_code == 415
    assert "'content-type: application/json'" in response.json()["detail"]


def test_a_key_of_any_kind_and_length_can_be_reported(client: TestClient) -> None:
    keys = b'"\\ud800x": 1, "' + b"y" * 100_000 + b'": 1'

    response = client.post("/predict", content=b'{"rows": [{"text": "a", ' + keys + b"}]}", headers=JSON)

    assert response.status_code == 422
    assert len(response.text) < 1_000


def test_a_refusal_does_not_repeat_the_text(client: TestClient) -> None:
    _, detail = refusal(client, {"texts": ["a private letter", 3], "rows": [{"text": 5, "pair": "to nobody else"}]})

    assert "private" not in detail
    assert "nobody" not in detail


def test_as_many_rows_as_are_allowed_are_answered(narrow_client: TestClient) -> None:
    assert narrow_client.post("/predict", json={"texts": ["0123456789"] * 3}).status_code == 200


@pytest.mark.parametrize("question", [{"texts": ["a"] * 4}, {"rows": [{"text": "a"}] * 4}])
def test_more_rows_than_allowed_are_refused(narrow_client: TestClient, question: Any) -> None:
    assert refusal(narrow_client, question) == (413, "4 rows in one request; at most 3 are taken")


@pytest.mark.parametrize(
    ("question", "place"),
    [({"texts": ["a", "0123456789x"]}, "texts[1]"), ({"rows": [{"text": "0123456789x"}]}, "rows[0].text")],
)
def test_a_text_longer_than_allowed_is_refused_with_its_place(
    narrow_client: TestClient, question: Any, place: str
) -> None:
    assert refusal(narrow_client, question) == (413, f"{place} has 11 characters; at most 10 are taken")


def test_the_second_text_has_the_same_limit(pair_model_folder: Path) -> None:
    with TestClient(
        create_app(
            ServedModels.open([ModelSource(pair_model_folder)]), settings=ServerSettings(limits=Limits(characters=10))
        )
    ) as client:
        status, detail = refusal(client, {"rows": [{"text": "a", "pair": "0123456789x"}]})

    assert status == 413
    assert detail.startswith("rows[0].pair has 11 characters")


def test_a_model_of_single_texts_refuses_a_pair(client: TestClient) -> None:
    status, detail = refusal(client, {"rows": [{"text": "a"}, {"text": "a", "pair": ""}]})

    assert status == 422
    assert detail.startswith("rows[1] has a 'pair', but this model reads one text per row")


@pytest.mark.parametrize("question", [{"texts": ["a"]}, {"rows": [{"text": "a"}]}])
def test_a_model_of_pairs_refuses_a_single_text(pair_client: TestClient, question: Any) -> None:
    status, detail = refusal(pair_client, question)

    assert status == 422
    assert 'this model reads two texts per row: send {"rows": [{"text": "…", "pair": "…"}]}' in detail
