import http.client
import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from limbeck.cli import app
from limbeck.runtime import engine
from limbeck.runtime.classifier import load
from limbeck.runtime.native_engine import NativeImpossible
from limbeck.serving.run import AddressUnusable, PortTaken, _print_address, listening
from limbeck.serving.served_models import ServedModel, ServedModels
from limbeck.serving.settings import ServerSettings

PATIENCE = 60  # seconds, where a failing test would otherwise wait for ever


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield int(other.getsockname()[1])


@contextmanager
def serving(model: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], http.client.HTTPConnection]]:
    """`limbeck serve` in a process of its own, and a connection to the address it prints."""
    command = [sys.executable, "-W", "error", "-m", "limbeck", "serve", str(model), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(5 * PATIENCE, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            printed = "".join(iter(process.stdout.readline, "Stop it with Ctrl-C.\n"))
            address = re.search(r"page +http://(127\.0\.0\.1:\d+)/", printed)
            assert address, printed
            connection = http.client.HTTPConnection(address[1], timeout=PATIENCE)
            yield process, connection
            connection.close()
        finally:
            guard.cancel()
            process.kill()


def ask(connection: http.client.HTTPConnection, path: str, question: object = None) -> object:
    method, body = ("GET", None) if question is None else ("POST", json.dumps(question))
    connection.request(method, path, body, headers={"content-type": "application/json"})
    return json.loads(connection.getresponse().read())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_answers_until_it_is_told_to_stop(model_folder: Path, number: signal.Signals) -> None:
    texts = ["a gorgeous film", "a dreadful story"]

    with serving(model_folder) as (process, connection):
        health = ask(connection, "/health")
        answer = ask(connection, "/predict", {"texts": texts})
        process.send_signal(number)  # the connection is still open
        rest, errors = process.communicate(timeout=PATIENCE)

    assert isinstance(health, dict)
    assert health["ready"] is True
    assert isinstance(answer, dict)
    assert [prediction["label"] for prediction in answer["predictions"]] == load(model_folder).predict(texts)
    assert (process.returncode, rest, errors) == (0, "Stopped.\n", "")


def test_the_model_and_its_classes_are_named_as_they_are(model_folder: Path) -> None:
    classifier = load(model_folder)
    classifier.facts = replace(classifier.facts, labels=["[b]", "[/]", ":x:"])
    models, file = ServedModels([ServedModel("red", classifier, size_mb=1.0)]), io.StringIO()

    _print_address(Console(file=file, width=200), models, settings=ServerSettings(), port=80)

    assert file.getvalue().startswith(f"Serving red ({classifier.facts.precision}, 1.0 MB): [b], [/], :x:\n")


def test_connections_send_small_answers_at_once() -> None:
    with listening("127.0.0.1", 0) as ear, socket.create_connection(ear.getsockname(), timeout=PATIENCE):
        accepted, _ = ear.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_reported(taken_port: int) -> None:
    with pytest.raises(PortTaken, match=f"port {taken_port} of 127.0.0.1 is taken"), listening("127.0.0.1", taken_port):
        pass


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    with pytest.raises(AddressUnusable, match=r"'203\.0\.113\.7'"), listening("203.0.113.7", 0):
        pass


def test_the_command_tells_a_taken_port_and_exits_with_2(model_folder: Path, taken_port: int) -> None:
    done = CliRunner().invoke(app, ["serve", str(model_folder), "--port", str(taken_port)])

    assert done.exit_code == 2
    assert "--port 0 takes any free one" in done.stderr


def test_the_command_takes_the_engine_asked_for(model_folder: Path) -> None:
    with serving(model_folder, "--engine", "onnx") as (_, connection):
        facts = ask(connection, "/model")

    assert isinstance(facts, dict)
    assert facts["engine"] == "onnxruntime"


def test_the_command_tells_that_an_engine_cannot_be_had(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object, **__: object) -> None:
        raise NativeImpossible("the moon is not full")

    monkeypatch.setattr(engine, "NativeEngine", cannot)

    done = CliRunner().invoke(app, ["serve", str(model_folder), "--engine", "native"])

    assert done.exit_code == 2
    assert "the moon is not full" in done.stderr


def test_the_command_refuses_a_folder_that_is_no_model(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["serve", str(tmp_path)])

    assert done.exit_code == 2
    assert "is not a model" in done.stderr


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "httptools", "prometheus_client"])
def test_without_the_extra_the_command_says_how_to_get_it(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in [name for name in sys.modules if name.startswith(("limbeck.serving", f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)

    done = CliRunner().invoke(app, ["serve", str(model_folder)])

    assert done.exit_code == 2
    assert "pip install 'limbeck[serve]'" in done.stderr
