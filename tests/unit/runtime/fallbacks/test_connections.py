"""Asking a server: connections are kept, and whatever it does, there is an answer or a FallbackFailed in time."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from limbeck.runtime.fallbacks.connections import Server, checked_url
from limbeck.runtime.fallbacks.fallback import FallbackFailed, FallbackUnusable
from tests.unit.runtime.fallbacks.conftest import Fault, ScriptedServer, always

KEY = "sk-very-secret"


@pytest.fixture
def asked(server: ScriptedServer) -> Server:
    return Server(server.url, timeout=5)


def test_json_is_sent_and_read(server: ScriptedServer, asked: Server) -> None:
    server.answer = lambda _, body: {"got": body}

    assert asked.post("/predict", {"texts": ["ein \ud83d\ude42 film"]}) == {"got": {"texts": ["ein 🙂 film"]}}
    assert asked.get("/model") == {"got": None}
    assert [question for question, _ in server.asked] == ["POST /predict", "GET /model"]
    asked.close()


def test_one_connection_is_kept_for_many_questions(server: ScriptedServer, asked: Server) -> None:
    for _ in range(10):
        asked.post("/predict", {})

    assert server.connections == 1
    asked.close()


def test_threads_have_connections_of_their_own(server: ScriptedServer, asked: Server) -> None:
    together = threading.Barrier(4, timeout=5)

    def answer(_: str, body: Any) -> Any:
        together.wait()
        return body

    server.answer = answer
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: asked.post("/predict", number), range(8)))

    assert found == list(range(8))
    assert 4 <= server.connections <= 8
    asked.close()


def test_a_kept_connection_that_the_server_has_closed_is_opened_again(server: ScriptedServer, asked: Server) -> None:
    asked.post("/predict", {})
    answers = iter([always(Fault("reset")), always("again")])
    server.answer = lambda question, body: next(answers)(question, body)

    assert asked.post("/predict", {}) == "again"
    asked.close()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("status", "the status 500"),
        ("redirect", "the status 302, a redirect"),
        ("cut", "ended early"),
        ("reset", "ended early|reset"),
        ("huge", "more than 1,000,000 bytes"),
        ("endless", "more than 1,000,000 bytes"),
        ("no_http", "no HTTP|not JSON"),
    ],
)
def test_a_fault_of_the_server_is_said(server: ScriptedServer, kind: str, reason: str) -> None:
    server.answer = always(Fault(kind))
    asked = Server(server.url, timeout=5, key=KEY, most_bytes=1_000_000)

    with pytest.raises(FallbackFailed, match=reason) as failed:
        asked.post("/predict", {"texts": ["secret text"]})

    assert "secret" not in str(failed.value)
    assert failed.value.__cause__ is None


@pytest.mark.parametrize("kind", ["silent", "dripping"])
def test_a_server_that_takes_too_long_is_left(server: ScriptedServer, kind: str) -> None:
    server.answer = always(Fault(kind))
    started = time.monotonic()

    with pytest.raises(FallbackFailed, match=r"not within 0\.3 seconds"):
        Server(server.url, timeout=0.3).post("/predict", {})

    assert time.monotonic() - started < 20


def test_questions_that_belong_together_share_a_deadline(server: ScriptedServer) -> None:
    asked = Server(server.url, timeout=40)
    deadline = asked.deadline()
    asked.get("/model", deadline=deadline)
    server.answer = always(Fault("silent"))

    with pytest.raises(FallbackFailed, match=r"not within 40 seconds"):
        asked.get("/model", deadline=time.monotonic() + 0.3)
    with pytest.raises(FallbackFailed, match=r"not within 40 seconds"):
        asked.get("/model", deadline=deadline - 50)

    assert len(server.asked) == 2
    assert time.monotonic() < deadline


FORKED = """
import os, sys
from limbeck.runtime.fallbacks.connections import Server

asked = Server(sys.argv[1], timeout=5)
asked.get("/first")
child = os.fork()
mine = "parent" if child else "child"
right = all(asked.post("/predict", [mine, number]) == [mine, number] for number in range(20))
if not child:
    os._exit(0 if right else 3)
_, status = os.waitpid(child, 0)
right = right and asked.post("/predict", "again") == "again"
sys.exit(os.waitstatus_to_exitcode(status) or (0 if right else 4))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork_each_process_has_connections_of_its_own(server: ScriptedServer) -> None:
    """Two processes that read from one connection got each other's answers."""
    both = threading.Barrier(2, timeout=3)

    def answer(_: str, body: Any) -> Any:
        if isinstance(body, list) and body[1] == 0:
            with suppress(threading.BrokenBarrierError):
                both.wait()  # they ask at the same time
        return body

    server.answer = answer
    ended = subprocess.run([sys.executable, "-c", FORKED, server.url], capture_output=True, text=True, timeout=60)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert server.connections == 2


def cut_off(asked: Server, waiting: "Future[Any]") -> str:
    """Why a question that is under way fails when its server is closed; it does at once."""
    started = time.monotonic()
    asked.close()
    with pytest.raises(FallbackFailed) as failed:
        waiting.result(timeout=15)
    assert time.monotonic() - started < 10
    return failed.value.reason


@pytest.mark.parametrize("kind", ["silent", "dripping"])
@pytest.mark.parametrize("is_kept", [True, False])
def test_closing_cuts_off_who_waits_for_an_answer(server: ScriptedServer, kind: str, is_kept: bool) -> None:
    asked = Server(server.url, timeout=30)
    if is_kept:
        asked.get("/model")
    under_way = threading.Event()

    def answer(*_: Any) -> Any:
        under_way.set()
        raise Fault(kind)

    server.answer = answer
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(asked.post, "/predict", {})
        assert under_way.wait(15)

        assert "stops" in cut_off(asked, waiting)

    with pytest.raises(FallbackFailed, match="stops"):
        asked.get("/model")


@contextmanager
def full_listener() -> Iterator[str]:
    """The address of a server that takes no connection any more."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as stack:
        for _ in range(3):
            sock = stack.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_closing_cuts_off_who_waits_for_a_connection(scheme: str) -> None:
    """Of https: for the other side of the handshake."""
    with ExitStack() as stack:
        if scheme == "http":
            url = stack.enter_context(full_listener())
        else:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        asked = Server(url, timeout=20)
        pool = stack.enter_context(ThreadPoolExecutor(1))
        waiting = pool.submit(asked.get, "/model")
        time.sleep(0.3)  # the kernel does not say when it waits
        assert not waiting.done()

        assert "stops" in cut_off(asked, waiting)


@pytest.mark.parametrize("content", [b"", b"<html>", b"{", b"[" * 200_000, b"\xff\xfe"])
def test_what_is_not_json_is_a_failure(server: ScriptedServer, asked: Server, content: bytes) -> None:
    server.answer = always(content)

    with pytest.raises(FallbackFailed, match="not JSON"):
        asked.get("/model")


def test_nobody_there_is_a_failure(server: ScriptedServer) -> None:
    url = server.url
    server.close()

    with pytest.raises(FallbackFailed, match="refused"):
        Server(url, timeout=5).get("/model")


def test_the_key_is_sent_and_shown_nowhere(server: ScriptedServer) -> None:
    asked = Server(server.url, timeout=5, key=KEY)

    asked.get("/model")

    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(asked)
    asked.close()


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://host",
            "http://",
            "http://host:port",
            "http://host:99999999",
            "host:8000",
            "http://ho st",
            "http://h\n",
        ),
        *("http://name:password@host", "http://host/?key=secret", "http://host/#secret", "http://hôst"),
    ],
)
def test_what_is_no_plain_address_is_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(FallbackUnusable) as refused:
        checked_url(url)

    assert "password" not in str(refused.value).replace("name and password", "")
    assert "secret" not in str(refused.value)


def test_a_path_in_the_address_goes_before_every_path(server: ScriptedServer) -> None:
    asked = Server(f"{server.url}/models/one/", timeout=5)

    asked.get("/info")
    asked.post("", json.loads("[]"))

    assert [question for question, _ in server.asked] == ["GET /models/one/info", "POST /models/one"]
    asked.close()
