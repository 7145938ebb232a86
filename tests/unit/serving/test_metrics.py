from pathlib import Path

from starlette.testclient import TestClient

from limbeck.serving.app import create_app
from limbeck.serving.served_models import ModelSource, ServedModels


def numbers(client: TestClient) -> dict[str, float]:
    """Every line of /metrics that is no comment: name with labels, and value."""
    lines = client.get("/metrics").text.splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def test_requests_rows_and_errors_are_counted(client: TestClient) -> None:
    client.post("/predict", json={"texts": ["a film", "a story"]})
    client.post("/predict", json={"texts": ["a film"]})
    client.post("/predict", json={"texts": [1]})
    client.get("/health")

    found = numbers(client)

    assert found['limbeck_requests_total{path="/predict"}'] == 3
    assert found['limbeck_requests_total{path="/health"}'] == 1
    assert found['limbeck_rows_total{model="bilstm"}'] == 3
    assert found['limbeck_errors_total{path="/predict",status="422"}'] == 1
    assert 'limbeck_errors_total{path="/health",status="200"}' not in found


def test_seconds_fall_into_buckets(client: TestClient) -> None:
    client.post("/predict", json={"texts": ["a film"]})

    found = numbers(client)

    assert found['limbeck_request_seconds_bucket{le="+Inf",path="/predict"}'] == 1
    assert found['limbeck_request_seconds_count{path="/predict"}'] == 1
    assert 0 < found['limbeck_request_seconds_sum{path="/predict"}'] < 60


def test_paths_of_strangers_are_counted_as_one(client: TestClient) -> None:
    for number in range(5):
        client.get(f"/wp-admin/{number}")

    found = numbers(client)

    assert found['limbeck_errors_total{path="other",status="404"}'] == 5
    assert not [name for name in found if "wp-admin" in name]


def test_the_model_is_named(client: TestClient) -> None:
    named = 'limbeck_model_info{kind="bilstm",model="bilstm",precision="fp32",version='

    assert any(name.startswith(named) for name in numbers(client))


def test_two_servers_in_one_process_count_apart(model_folder: Path, client: TestClient) -> None:
    client.post("/predict", json={"texts": ["a film"]})

    with TestClient(create_app(ServedModels.open([ModelSource(model_folder)]))) as other:
        assert numbers(other)['limbeck_rows_total{model="bilstm"}'] == 0


def test_prometheus_is_told_the_format(client: TestClient) -> None:
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=")
