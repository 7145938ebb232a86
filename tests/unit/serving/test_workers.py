"""`limbeck serve` as people run it: workers, reloads, keys, HTTPS, a log, and stops that lose nothing."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
from typer.testing import CliRunner

from limbeck.cli import app
from limbeck.runtime.classifier import load
from limbeck.serving import workers
from limbeck.serving.workers import SHARED_FOLDER, Supervisor, WorkersDie, keep_counts
from tests.unit.serving.servers import PATIENCE, TEXT, Running, running, until


@pytest.fixture(scope="module")
def plain(model_folder: Path) -> Iterator[Running]:
    """A server without options, for tests that only ask."""
    with running(model_folder) as server:
        yield server


def label_of(text: str) -> Any:
    return json.loads(text)["predictions"][0]["label"]


@dataclass
class Clients:
    """Ask over and over on connections that stay open; a request is lost if its connection ends without an answer."""

    server: Running
    answered: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self, count: int) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._ask_on) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def _ask_on(self) -> None:
        connection = self.server.connection()
        try:
            self._ask_on_this(connection)
        finally:
            connection.close()

    def _ask_on_this(self, connection: http.client.HTTPConnection) -> None:
        while not self.ended.is_set():
            try:
                connection.request("POST", "/predict", json.dumps(TEXT), headers=self.server.headers)
                response = connection.getresponse()
                response.read()
            except ConnectionRefusedError:
                return  # it has ended
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                return
            if response.status == 200:
                self.answered += 1
            else:
                self.refused += 1


def test_workers_share_the_port_and_add_their_counts_up(model_folder: Path) -> None:
    with running(model_folder, "--workers", "2") as server:
        until(lambda: len(server.children()) == 2)
        for _ in range(40):
            assert server.ask("/predict", TEXT)[0] == 200
        until(lambda: any("label_share" in name for name in server.numbers()))
        found = server.numbers()
        status, rest, errors = server.stop()

    assert found['limbeck_rows_total{model="bilstm"}'] == 40
    assert found['limbeck_requests_total{path="/predict"}'] == 40
    assert found["process_resident_memory_bytes"] > 1e7
    assert found['limbeck_label_share{label="positive",model="bilstm"}'] + found[
        'limbeck_label_share{label="negative",model="bilstm"}'
    ] + found['limbeck_label_share{label="neutral",model="bilstm"}'] == pytest.approx(1)
    assert (status, rest, errors) == (0, "Stopped.\n", "")


def test_workers_compute_with_onnxruntime_too(model_folder: Path) -> None:
    with running(model_folder, "--workers", "2", "--engine", "onnx") as server:
        labels = [label_of(server.ask("/predict", TEXT)[1]) for _ in range(10)]

    assert labels == load(model_folder).predict(TEXT["texts"]) * 10


def test_a_worker_that_dies_is_replaced(model_folder: Path) -> None:
    with running(model_folder, "--workers", "2") as server:
        until(lambda: len(server.children()) == 2)
        before = server.children()
        os.kill(before[0], signal.SIGKILL)
        until(lambda: len(set(server.children()) - {before[0]}) == 2)
        answers = [server.ask("/predict", TEXT)[0] for _ in range(10)]

    assert answers == [200] * 10


@pytest.mark.parametrize("workers", ["1", "2"])
def test_another_model_takes_over_while_clients_ask_and_none_is_lost(
    model_folder: Path, multi_label_folder: Path, tmp_path: Path, workers: str
) -> None:
    link = tmp_path / "model"
    link.symlink_to(model_folder)
    with running(link, "--workers", workers) as server:
        until(lambda: server.ask("/readyz")[0] == 200)
        clients = Clients(server)
        threads = clients.start(3)
        new = tmp_path / "new"
        new.symlink_to(multi_label_folder)
        new.rename(link)
        server.process.send_signal(signal.SIGHUP)
        until(lambda: "labels" in json.loads(server.ask("/predict", TEXT)[1])["predictions"][0])
        until(lambda: clients.answered > 30)
        clients.ended.set()
        for thread in threads:
            thread.join(PATIENCE)
        _, rest, errors = server.stop()

    assert clients.lost == []
    assert clients.refused == 0
    assert "Loaded again: bilstm." in rest
    assert errors == ""


def test_a_folder_that_changes_is_watched(model_folder: Path, multi_label_folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "model"
    link.symlink_to(model_folder)
    with running(link, "--watch") as server:
        assert "label" in json.loads(server.ask("/predict", TEXT)[1])["predictions"][0]
        (tmp_path / "new").symlink_to(multi_label_folder)
        (tmp_path / "new").rename(link)

        until(lambda: "labels" in json.loads(server.ask("/predict", TEXT)[1])["predictions"][0])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stop_under_load_loses_no_request(model_folder: Path, workers: str) -> None:
    with running(model_folder, "--workers", workers) as server:
        until(lambda: server.ask("/readyz")[0] == 200)
        clients = Clients(server)
        threads = clients.start(4)
        until(lambda: clients.answered > 50)
        status, rest, errors = server.stop()
        clients.ended.set()
        for thread in threads:
            thread.join(PATIENCE)

    assert clients.lost == []
    assert (status, rest, errors) == (0, "Stopped.\n", "")


def test_workers_that_cannot_start_end_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(workers, "sleep", pauses.append)

    def fail(_: Callable[[], None]) -> None:
        os._exit(3)

    supervisor = Supervisor(count=1, answer=fail, reload=lambda _: False, grace_seconds=0.1, folder=tmp_path)

    with pytest.raises(WorkersDie, match="5 workers in a row ended right after their start"):
        supervisor.run()
    assert pauses == [0.2, 0.4, 0.8, 1.6]


def test_one_server_has_several_models(model_folder: Path, multi_label_folder: Path) -> None:
    with running(f"mood={model_folder}", f"topic={multi_label_folder}") as server:
        status, text = server.ask("/models/topic/predict", TEXT)

    assert "Serving mood (default) (fp32" in server.printed
    assert "Serving topic (fp32" in server.printed
    assert status == 200
    assert "labels" in json.loads(text)["predictions"][0]


def test_a_server_with_a_fallback_says_so_and_uses_it(model_folder: Path) -> None:
    with running(model_folder, "--fallback", model_folder, "--threshold", "0.99") as server:
        _, text = server.ask("/predict", TEXT)

    assert "up to a confidence of 0.990 it asks " in server.printed
    assert json.loads(text)["predictions"][0]["answered_by"] == "fallback"
    assert label_of(text) == load(model_folder).predict(TEXT["texts"])[0]


def test_only_who_has_a_key_is_answered(model_folder: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# of the shop\n0123456789abcdef0123\nfedcba9876543210fedc\n", encoding="utf-8")
    keys.chmod(0o600)
    with running(model_folder, "--api-key-file", keys) as server:
        without, text = server.ask("/predict", TEXT)
        wrong, _ = server.ask("/predict", TEXT, headers={"authorization": "Bearer 0123456789abcdef"})
        right, _ = server.ask("/predict", TEXT, headers={"authorization": "Bearer fedcba9876543210fedc"})
        page, _ = server.ask("/")
        health, _ = server.ask("/livez")

    assert (without, wrong, right, page, health) == (401, 401, 200, 200, 200)
    assert "API key" in json.loads(text)["detail"]


def test_other_host_names_are_refused_on_this_machine_alone(plain: Running) -> None:
    foreign, _ = plain.ask("/predict", TEXT, headers={"host": "evil.example:8000"})
    ours, _ = plain.ask("/predict", TEXT, headers={"host": "localhost:1234"})

    assert (foreign, ours) == (421, 200)


def test_a_host_in_the_address_counts_more_than_the_header(plain: Running) -> None:
    ask = "GET {}/model HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n"
    targets = [("http://evil.example", "localhost"), ("http://localhost:80", "evil.example"), ("//localhost", "evil")]
    statuses = []
    for target, host in targets:
        with socket.create_connection(("127.0.0.1", plain.port), timeout=PATIENCE) as connection:
            connection.sendall(ask.format(target, host).encode())
            statuses.append(int(connection.recv(65_536).split(b" ", 2)[1]))

    assert statuses == [421, 200, 421]


def test_options_may_come_from_the_environment(model_folder: Path) -> None:
    with running(model_folder, environment={"LIMBECK_SERVE_MAX_ROWS": "1"}) as server:
        status, text = server.ask("/predict", {"texts": ["one", "two"]})

    assert status == 413
    assert "at most 1" in json.loads(text)["detail"]


def test_head_is_answered_as_get_is_without_a_body(plain: Running) -> None:
    connection = plain.connection()
    connection.request("HEAD", "/")
    response = connection.getresponse()
    size, body = int(response.headers["content-length"]), response.read()
    connection.close()

    assert (response.status, body) == (200, b"")
    assert size > 1_000


def test_the_access_log_has_no_texts(model_folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running(model_folder, "--access-log", log) as server:
        server.ask("/predict", TEXT)
        server.stop()

    (line,) = log.read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert (entry["path"], entry["status"], entry["model"], entry["rows"]) == ("/predict", 200, "bilstm", 1)
    assert "gorgeous" not in line


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_it_speaks_https(model_folder: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]  # made at once, unlike RSA
    make = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *names], check=True, capture_output=True)
    with running(model_folder, "--ssl-certfile", certificate, "--ssl-keyfile", key) as server:
        server.context = ssl.create_default_context(cafile=str(certificate))
        status, _ = server.ask("/predict", TEXT)

    assert "https://127.0.0.1" in server.printed
    assert status == 200


@pytest.mark.parametrize(
    "files",
    [["--ssl-keyfile", "key"], ["--ssl-certfile", "nowhere"], ["--ssl-certfile", "key", "--ssl-keyfile", "key"]],
)
def test_files_for_https_that_cannot_be_used_are_an_error_before_anything_else(
    model_folder: Path, tmp_path: Path, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_text("no key", encoding="utf-8")

    done = CliRunner().invoke(app, ["serve", str(model_folder), "--port", "0", *files])

    assert done.exit_code == 2
    assert "the files for HTTPS cannot be used" in done.output
    assert "Serving" not in done.output


def test_counts_of_workers_that_have_ended_are_kept_in_one_file(tmp_path: Path) -> None:
    count = (
        "import os, sys; from prometheus_client import Counter; Counter('seen', 'x').inc(2); "
        "os.rename(f'{sys.argv[1]}/counter_{os.getpid()}.db', f'{sys.argv[1]}/counter_{sys.argv[2]}.db')"
    )
    for pid in (11, 12):
        environment = {**os.environ, SHARED_FOLDER: str(tmp_path)}
        subprocess.run([sys.executable, "-c", count, str(tmp_path), str(pid)], check=True, env=environment)

    keep_counts(11, tmp_path)
    keep_counts(12, tmp_path)

    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(tmp_path))  # type: ignore[no-untyped-call]
    assert [path.name for path in tmp_path.iterdir()] == ["counter_0.db"]
    assert registry.get_sample_value("seen_total") == 4
