"""The page at /: whole in itself, and its parts fit together."""

import re

import pytest
from fastapi.testclient import TestClient


@pytest.fixture
def page(client: TestClient) -> str:
    response = client.get("/")
    assert response.headers["content-type"].startswith("text/html")
    return response.text


def test_the_page_asks_nobody_but_its_server(page: str) -> None:
    assert re.findall(r"https?://|//[a-z]+\.|@import|\burl\(|\bsrc=", page) == []
    assert re.findall(r"\bfetch\(([^,]*)|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\(", page) == ["path"]
    assert set(re.findall(r"\bcall\(([^,)]*)", page)) == {"path", '"models"', '"model"', '"predict"'}
    assert set(re.findall(r'href="([^"]*)"', page)) == {"data:,", "openapi.json"}


def test_the_browser_is_told_to_let_the_page_talk_to_its_server_alone(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy


def test_every_part_that_the_script_touches_is_there(page: str) -> None:
    wanted = set(re.findall(r'part\("([a-z-]+)"\)', page))

    assert len(wanted) > 8
    assert wanted <= set(re.findall(r' id="([a-z-]+)"', page))


def test_text_from_outside_is_never_read_as_html(page: str) -> None:
    readers = (
        r"\w*HTML\w*\b|document\.write|\beval\(|new Function|createContextualFragment|DOMParser|srcdoc|javascript:"
    )

    assert re.findall(readers, page.partition("<script>")[2]) == []


def test_nothing_is_kept_in_the_browser(page: str) -> None:
    assert re.findall(r"localStorage|sessionStorage|indexedDB|\.cookie|caches\b|pushState|replaceState", page) == []


def test_the_page_reads_no_fact_that_the_server_does_not_tell(client: TestClient, page: str) -> None:
    facts = client.get("/model").json()
    answer = client.post("/predict", json={"texts": ["a film"]}).json()

    assert set(re.findall(r"\bmodel\.([a-z_]+)", page)) <= {*facts, "examples"}
    assert set(re.findall(r"\banswer\.([a-z_]+)", page)) <= set(answer)


def test_the_page_reads_what_is_said_of_a_text_by_either_kind_of_model(
    client: TestClient, multi_label_client: TestClient, page: str
) -> None:
    servers = (client, multi_label_client)
    said = [server.post("/predict", json={"texts": ["a film"]}).json()["predictions"][0] for server in servers]

    read = set(re.findall(r"\b(?:prediction|lastAnswer)\.([a-z_]+)", page))

    assert read == {*(key for prediction in said for key in prediction), "answered_by", "explanation", "score"}


def test_the_page_fits_a_phone_and_the_dark(page: str) -> None:
    assert 'name="viewport" content="width=device-width' in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_is_small_enough_to_read(page: str) -> None:
    assert page.count("\n") <= 740
