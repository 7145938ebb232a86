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
    assert set(re.findall(r'fetch\("([^"]*)"', page)) == {"model", "predict"}
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
    written = re.findall(r"\.(?:innerHTML|outerHTML|insertAdjacentHTML)[^;]*", page)

    assert len(written) == 1
    assert "$" not in written[0]
    assert "+" not in written[0]


def test_the_page_reads_no_fact_that_the_server_does_not_tell(client: TestClient, page: str) -> None:
    facts = client.get("/model").json()
    answer = client.post("/predict", json={"texts": ["a film"]}).json()

    assert set(re.findall(r"\bmodel\.([a-z_]+)", page)) <= set(facts)
    assert set(re.findall(r"\banswer\.([a-z_]+)", page)) <= {*answer, "detail"}


def test_the_page_reads_what_is_said_of_a_text_by_either_kind_of_model(
    client: TestClient, multi_label_client: TestClient, page: str
) -> None:
    servers = (client, multi_label_client)
    said = [server.post("/predict", json={"texts": ["a film"]}).json()["predictions"][0] for server in servers]

    (names,) = re.findall(r"const \{ ([a-z, ]+) \} = answer\.predictions", page)

    assert set(names.split(", ")) == {key for prediction in said for key in prediction}


def test_the_page_fits_a_phone_and_the_dark(page: str) -> None:
    assert 'name="viewport" content="width=device-width' in page
    assert "prefers-color-scheme: dark" in page
