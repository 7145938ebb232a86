import contextlib
import http.client
import json
import os
import random
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SERVER = Path(__file__).parent / "tiny_server.py"
PATIENCE = 30  # seconds, where a failing test would otherwise wait for ever
GET = b"GET /%s HTTP/1.1\r\nhost: a\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\nhost: a\r\n"
LAST = b"GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
SHORT: dict[str, Any] = {"header_seconds": 0.4, "body_seconds": 0.4, "keep_alive_seconds": 0.4, "stop_seconds": 0.3}


@dataclass
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    end: dict[str, Any] | None = None
    errors: str = ""

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def client(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, sent: bytes) -> bytes:
        """Everything the server says to these bytes, until it closes."""
        with self.socket() as connection:
            connection.sendall(sent)
            return everything(connection)

    def get(self, path: str = "/") -> Any:
        client = self.client()
        client.request("GET", path)
        answer = json.loads(client.getresponse().read())
        client.close()
        return answer

    def counts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.get("/counts")["counts"]
        return found

    def listens(self) -> bool:
        try:
            self.socket().close()
        except OSError:
            return False
        return True

    def release(self) -> None:
        """Let it answer what it holds."""
        self.process.send_signal(signal.SIGUSR1)

    def stop(self) -> None:
        """SIGTERM, and the end awaited."""
        if self.end is None:
            self.process.send_signal(signal.SIGTERM)
            self.finish()

    def finish(self) -> None:
        out, self.errors = self.process.communicate(timeout=PATIENCE)
        assert out, self.errors
        self.end = json.loads(out)


@contextmanager
def running(
    *,
    files: int = 0,
    grace: float = 3,
    plain: bool = False,
    certificate: Path | None = None,
    log: bool = False,
    **limits: Any,
) -> Iterator[Running]:
    settings: dict[str, Any] = {"files": files, "grace": grace, "plain": plain, "log": log}
    settings |= {"certificate": certificate and str(certificate)}
    given = json.dumps({"limits": limits, **settings})
    command = [sys.executable, str(SERVER), given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(4 * PATIENCE, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            server = Running(process, int(process.stdout.readline()))
            yield server
            server.stop()
        finally:
            guard.cancel()
            process.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """With small limits of size and ordinary ones of time."""
    with running(
        header_bytes=4_000, header_count=20, url_bytes=500, body_bytes=100_000, most_body_bytes=1_000_000
    ) as one:
        yield one
    assert "Traceback" not in one.errors


@pytest.fixture(scope="module")
def impatient() -> Iterator[Running]:
    """With short limits of time."""
    with running(**SHORT, body_rate=100) as one:
        yield one
    assert one.errors == ""


def until(condition: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def everything(connection: socket.socket) -> bytes:
    pieces = []
    while piece := connection.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def body_of(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def assert_refused(answer: bytes, status: int) -> None:
    assert status_of(answer) == status, answer
    assert b"\r\nconnection: close\r\n" in answer
    assert b"\r\nx-request-id: " in answer
    assert "detail" in body_of(answer)


# What is answered


def test_a_request_is_answered_and_the_connection_kept(server: Running) -> None:
    client = server.client()

    for _ in range(3):
        client.request("POST", "/echo", b"x" * 50_000)
        answer = json.loads(client.getresponse().read())
        assert (answer["size"], answer["method"]) == (50_000, "POST")
    client.close()


def test_head_gets_the_headers_alone(server: Running) -> None:
    with server.socket() as connection:
        connection.sendall(
            b"HEAD /a HTTP/1.1\r\nhost: a\r\n\r\n" + GET % b"b" + b"HEAD /" + b"x" * 600 + b" HTTP/1.1\r\n\r\n"
        )
        answer = everything(connection)

    first, second, third = answer.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"200")
    assert first.endswith(b"\r\n\r\n")
    assert b'"/b"' in second
    assert third.startswith(b"414")
    assert third.endswith(b"\r\n\r\n")


def test_pipelined_requests_are_answered_in_order_however_many_come_at_once(server: Running) -> None:
    count = 3_000
    sent = b"".join(GET % (b"%d" % number) for number in range(count))
    sent += LAST
    with server.socket() as connection:
        sender = threading.Thread(target=connection.sendall, args=(sent,))
        sender.start()
        answer = everything(connection)
        sender.join()

    paths = [json.loads(piece.partition(b"\r\n\r\n")[2])["path"] for piece in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert paths == [*(f"/{number}" for number in range(count)), "/last"]


def test_pipelined_bodies_stay_with_their_requests(server: Running) -> None:
    sizes = [0, 1, 3_000, 20_000, 2_047, 2_048, 2_049, 5]
    sent = b"".join(POST + b"content-length: %d\r\n\r\n" % size + b"x" * size for size in sizes)

    answer = server.ask(sent + LAST)

    found = [json.loads(piece.partition(b"\r\n\r\n")[2])["size"] for piece in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert found == [*sizes, 0]


def memory_kb(process: int, name: str) -> int:
    """VmRSS: now; VmHWM: the most so far. Zero where that is not known."""
    status = Path(f"/proc/{process}/status")
    return int(status.read_text().partition(f"{name}:")[2].split()[0]) if status.exists() else 0


def test_a_flood_of_pipelined_requests_with_bodies_waits_in_the_kernel() -> None:
    """All that had come was copied for every answer, and ever more was read: 73 MB on one connection took 265 MB."""
    count, size = 20_000, 3_000
    sent = b"".join(
        b"POST /%d HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % (number, size) + b"x" * size
        for number in range(count)
    )  # 60 MB
    began = time.monotonic()
    with running() as server, server.socket() as connection:
        server.get("/first")
        before = memory_kb(server.process.pid, "VmRSS")
        sender = threading.Thread(target=connection.sendall, args=(sent + GET % b"wait/0.1" + LAST,))
        sender.start()
        answer = everything(connection)
        sender.join()
        grown = memory_kb(server.process.pid, "VmHWM") - before
        held = server.counts()["body_bytes"]

    found = [json.loads(piece.partition(b"\r\n\r\n")[2])["path"] for piece in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert found == [*(f"/{number}" for number in range(count)), "/wait/0.1", "/last"]
    assert grown < 30_000
    assert held == 0
    assert time.monotonic() - began < 2 * PATIENCE


def test_what_waits_unparsed_is_counted_with_the_bodies() -> None:
    waiting = GET % b"hold" + (GET % b"next") * 200 + LAST
    with running() as server, server.socket() as connection:
        connection.sendall(waiting)
        until(lambda: server.counts()["body_bytes"] > 0)
        held = server.counts()["body_bytes"]
        server.release()
        answer = everything(connection)
        after = server.counts()

    assert held == len(waiting)
    assert answer.count(b"HTTP/1.1 200") == 202
    assert (after["body_bytes"], after["refused"]) == (0, {})


def test_what_there_is_no_room_for_is_refused_after_the_answers_before_it() -> None:
    with running(most_body_bytes=5_000) as server:
        answer = server.ask(GET % b"wait/0.1" + (GET % b"next") * 200 + LAST)
        after = server.counts()

    statuses = [int(piece[:3]) for piece in answer.split(b"HTTP/1.1 ")[1:]]
    assert 10 < len(statuses) < 100
    assert statuses == [200] * (len(statuses) - 1) + [503]
    assert (after["body_bytes"], after["refused"]) == (0, {"memory": 1})


def test_a_request_that_arrives_byte_by_byte_is_answered(server: Running) -> None:
    sent = POST + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with server.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in sent:
            connection.sendall(bytes([byte]))
        answer = everything(connection)

    assert body_of(answer)["size"] == 5


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket"])
def test_a_wish_for_another_protocol_is_ignored(server: Running, upgrade: bytes) -> None:
    """Java's client asks for HTTP/2 this way with every first request, also with those that have a body."""
    head = (
        b"connection: Upgrade, HTTP2-Settings\r\nupgrade: %s\r\nhttp2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n" % upgrade
    )
    sent = POST + head + b"content-length: 2500\r\n\r\n" + b"x" * 2_500
    sent += POST + head + b"content-length: 5\r\n\r\nhello"

    answer = server.ask(sent + LAST)

    answers = [json.loads(piece.partition(b"\r\n\r\n")[2]) for piece in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert [(one["path"], one["size"]) for one in answers] == [("/echo", 2_500), ("/echo", 5), ("/last", 0)]
    assert "upgrade" not in answers[0]["headers"]


def test_a_fault_of_the_application_is_a_500_in_json() -> None:
    with running() as other:
        answer = other.ask(GET % b"broken")
        other.stop()

    assert_refused(answer, 500)
    assert b"a fault of" not in answer
    assert "a fault of the application" in other.errors


def test_an_answer_before_the_body_is_read_whole(server: Running) -> None:
    client = server.client()
    for _ in range(2):
        client.request("POST", "/early", b"x" * 90_000)
        assert client.getresponse().read()
    client.close()


# What is refused


@pytest.mark.parametrize(
    "headers",
    [
        b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
        b"content-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"content-length: 3\r\ncontent-length: 3\r\n\r\nabc",
        b"content-length: 3, 3\r\n\r\nabc",
        b"content-length: +3\r\n\r\nabc",
        b"content-length: -1\r\n\r\n",
        b"content-length: 0x3\r\n\r\nabc",
        b"content-length: 99999999999999999999999\r\n\r\n",
        b"content-length : 3\r\n\r\nabc",
        b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\n3\nabc\n0\n\n",
        b"x: a\r\n folded\r\n\r\n",
        b"x: a\x00\r\n\r\n",
        b"x: a\rb\r\n\r\n",
        b"\x80: a\r\n\r\n",
    ],
)
def test_a_request_that_two_servers_could_read_differently_is_refused(server: Running, headers: bytes) -> None:
    answer = server.ask(POST + headers + GET % b"smuggled")

    assert_refused(answer, 400)
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\nhost: a\n\n",
        b"GET /\xff HTTP/1.1\r\nhost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT a:80 HTTP/1.1\r\nhost: a\r\n\r\n",
        b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    ],
)
def test_what_is_not_http_is_a_400_in_json(server: Running, sent: bytes) -> None:
    assert_refused(server.ask(sent), 400)


def test_trailers_are_no_headers(server: Running) -> None:
    sent = POST + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-api-key: secret\r\n\r\n"

    answer = body_of(server.ask(sent))

    assert answer["size"] == 1
    assert "x-api-key" not in answer["headers"]


@pytest.mark.parametrize(
    "headers",
    [b"x: " + b"y" * 5_000, b"x" * 5_000 + b": y", b"\r\n".join([b"x: y"] * 30), b"x: y\r\n" * 5_000 + b"x: y"],
    ids=["a long value", "a long name", "many headers", "very many headers"],
)
def test_too_many_or_too_large_headers_are_431(server: Running, headers: bytes) -> None:
    assert_refused(server.ask(b"GET / HTTP/1.1\r\nhost: a\r\n" + headers + b"\r\n\r\n"), 431)


def test_an_id_that_came_with_the_request_comes_back_with_the_refusal(server: Running) -> None:
    answer = server.ask(POST + b"x-request-id: abc-123\r\ncontent-length: 999999\r\n\r\n")

    assert b"\r\nx-request-id: abc-123\r\n" in answer


def test_too_long_an_address_is_414(server: Running) -> None:
    assert_refused(server.ask(GET % (b"x" * 600)), 414)


def flood(server: Running, begin: bytes, piece: bytes, *, pieces: int) -> tuple[bytes, int]:
    """Send a piece again and again until the server does not take it: what it said, and how much it took."""
    sent = 0
    with server.socket() as connection:
        connection.sendall(begin)
        try:
            for _ in range(pieces):
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            return b"", sent
        return everything(connection), sent


@pytest.mark.parametrize(
    "begin",
    [
        b"GET / HTTP/1.1\r\nhost: a\r\nx: ",
        b"GET /",
        POST + b"transfer-encoding: chunked\r\n\r\n1;",
        POST + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: ",
    ],
    ids=["header", "address", "extension of a chunk", "trailer"],
)
def test_endless_headers_take_no_memory(begin: bytes) -> None:
    with running(linger_bytes=20_000_000) as server:
        _, sent = flood(server, begin, b"x" * 100_000, pieces=1_000)
        counts = server.counts()
        server.stop()

    assert sent < 60_000_000, "it stops reading"
    assert counts["refused"] == {"large headers": 1}
    assert server.end is not None
    assert server.end["peak_kb"] < 100_000


def test_an_announced_body_that_is_too_large_is_a_413_that_can_be_read(server: Running) -> None:
    client = server.client()

    client.request("POST", "/echo", b"x" * 20_000_000)
    response = client.getresponse()
    detail = json.loads(response.read())["detail"]
    client.close()

    assert response.status == 413
    assert "100,000 bytes" in detail


def test_a_chunked_body_that_grows_too_large_is_a_413_that_can_be_read(server: Running) -> None:
    client = server.client()

    client.request("POST", "/echo", iter([b"x" * 50_000] * 100), encode_chunked=True)
    response = client.getresponse()
    client.close()

    assert response.status == 413


def test_a_413_comes_instead_of_100_continue(server: Running) -> None:
    with server.socket() as connection:
        connection.sendall(POST + b"expect: 100-continue\r\ncontent-length: 100001\r\n\r\n")
        refused = everything(connection)
    with server.socket() as connection:
        connection.sendall(POST + b"expect: 100-continue\r\nconnection: close\r\ncontent-length: 3\r\n\r\n")
        go_on = connection.recv(100)
        connection.sendall(b"abc")
        taken = everything(connection)

    assert_refused(refused, 413)
    assert go_on == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert body_of(taken)["size"] == 3


def test_a_refusal_comes_after_the_answers_to_earlier_requests(server: Running) -> None:
    sent = GET % b"wait/0.2" + GET % b"second" + POST + b"content-length: 5000000\r\n\r\n" + b"x" * 5_000_000

    with server.socket() as connection:
        sender = threading.Thread(target=connection.sendall, args=(sent,))
        sender.start()
        answer = everything(connection)
        sender.join()

    assert [int(piece[:3]) for piece in answer.split(b"HTTP/1.1 ")[1:]] == [200, 200, 413]


def test_bodies_of_all_requests_together_are_bounded(server: Running) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(server.socket()) for _ in range(12)]
        for connection in waiting:
            connection.sendall(POST + b"connection: close\r\ncontent-length: 100000\r\n\r\n" + b"x" * 95_000)
        until(lambda: bool(server.counts()["refused"].get("memory")))
        counts = server.counts()
        for connection in waiting:
            connection.sendall(b"x" * 5_000)
        statuses = sorted(status_of(everything(connection)) for connection in waiting)

    assert counts["body_bytes"] <= 1_000_000
    assert statuses == [200] * 10 + [503] * 2
    assert server.counts()["body_bytes"] == 0


# Time


def test_headers_that_do_not_come_are_a_408(impatient: Running) -> None:
    began = time.monotonic()
    with impatient.socket() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nho")
        connection.sendall(b"st: a\r\n")
        answer = everything(connection)

    assert_refused(answer, 408)
    assert 0.3 < time.monotonic() - began < PATIENCE


def seconds_until_cut(connection: socket.socket, piece: bytes) -> float:
    """How long the server lets a client send one small piece after the other."""
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        try:
            connection.sendall(piece)
        except OSError:
            break
        time.sleep(0.02)
    return time.monotonic() - began


def test_headers_that_drip_end() -> None:
    with running(**SHORT, linger_seconds=0.3) as server, server.socket() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")

        assert 0.3 < seconds_until_cut(connection, b"x: y\r\n") < PATIENCE


def test_a_body_that_does_not_come_is_a_408(impatient: Running) -> None:
    assert_refused(impatient.ask(POST + b"content-length: 5\r\n\r\nabc"), 408)


def test_a_body_that_drips_is_a_408(impatient: Running) -> None:
    answer = b""
    with impatient.socket() as connection:
        connection.sendall(POST + b"content-length: 5000\r\n\r\n")
        connection.settimeout(0.05)
        for _ in range(100):
            connection.sendall(b"x")
            try:
                answer = connection.recv(10_000)
                break
            except TimeoutError:
                continue

    assert_refused(answer, 408)


def test_a_connection_without_a_request_is_closed_without_a_word(impatient: Running) -> None:
    began = time.monotonic()

    assert impatient.ask(b"") == b""
    kept = impatient.ask(GET % b"first")

    assert kept.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" not in kept
    assert 0.6 < time.monotonic() - began < PATIENCE


def test_a_long_answer_is_waited_for(impatient: Running) -> None:
    assert impatient.get("/wait/0.7")["path"] == "/wait/0.7"


def test_who_does_not_take_an_answer_is_cut_off(impatient: Running) -> None:
    with impatient.socket() as connection:
        connection.sendall(GET % b"large" + GET % b"large")
        select.select([connection], [], [], PATIENCE)  # the answer has begun
        until(lambda: impatient.counts()["open"] == 1)
        taken = 0
        with contextlib.suppress(ConnectionResetError):
            taken = len(everything(connection))

    assert taken < 10_000_000
    assert impatient.counts()["open"] == 1


def test_a_413_does_not_keep_a_client_for_ever() -> None:
    with running(**SHORT, linger_seconds=0.3) as server, server.socket() as connection:
        connection.sendall(POST + b"content-length: 50000000\r\n\r\n")

        assert 0.2 < seconds_until_cut(connection, b"x") < PATIENCE


# Many connections


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nho", POST + b"content-length: 100\r\n\r\nabc"])
def test_idle_connections_lock_nobody_out(begun: bytes) -> None:
    """As 1,100 half-requests did; here with fewer files, to be quick."""
    with running(files=160, grace=0.2) as server, ExitStack() as stack:
        real = server.client()
        for _ in range(2):
            for _ in range(200):
                connection = stack.enter_context(server.socket())
                connection.sendall(begun)
            began = time.monotonic()
            while server.get("/real").get("path") != "/real":  # a body that is under way gets a second
                assert POST in begun
                assert time.monotonic() - began < PATIENCE
                time.sleep(0.1)
        real.close()
        counts = server.counts()
        server.stop()

    assert counts["most"] == 160 - 64
    assert counts["open"] <= 160 - 64 + 16  # and those that read why they were refused
    assert counts["made_room"] > (90 if POST in begun else 200)  # of those with half a body some were refused instead
    assert len(server.errors) < 2_000, server.errors


def test_who_waits_for_an_answer_is_not_closed_and_the_next_is_refused() -> None:
    with running(most_connections=8) as server, ExitStack() as stack:
        busy = [stack.enter_context(server.socket()) for _ in range(8)]
        for connection in busy:
            connection.sendall(b"GET /hold HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        refused = [server.ask(GET % b"more") for _ in range(20)]
        server.release()
        answers = [everything(connection) for connection in busy]
        later = server.get("/later")
        server.stop()

    for answer in refused:
        assert_refused(answer, 503)
        assert b"\r\nretry-after: 1\r\n" in answer
    assert [status_of(answer) for answer in answers] == [200] * 8
    assert later["path"] == "/later"
    assert server.end is not None
    assert server.end["counts"]["refused"] == {"connections": 20}
    assert len(server.errors.splitlines()) < 4


def test_requests_that_are_not_http_are_not_logged() -> None:
    with running() as other:
        for _ in range(50):
            assert_refused(other.ask(b"nonsense\r\n\r\n"), 400)
        other.stop()

    assert other.errors == ""


def test_any_bytes_are_answered_or_refused(server: Running) -> None:
    """Seeded damage to requests, in pieces of any size: no traceback, and the server answers afterwards."""
    chance = random.Random(26)
    request = POST + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    request += GET % b"a?b" + POST + b"content-length: 5\r\n\r\nabcde" + b"HEAD / HTTP/1.0\r\n\r\n"
    statuses = set()
    for _ in range(150):
        sent = bytearray(request)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(sent))
            sent[place : place + chance.randint(0, 3)] = chance.choice(
                [b"", b"\r\n", b"\x00", b" ", b":", b"\xff", b"0"]
            )
        with server.socket() as connection:
            while sent:
                size = chance.choice([1, 7, 40, 500])
                with contextlib.suppress(OSError):
                    connection.sendall(sent[:size])
                del sent[:size]
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
                answer = everything(connection)
                statuses |= {int(piece[:3]) for piece in answer.split(b"HTTP/1.1 ")[1:]}

    assert {200, 400} <= statuses <= {200, 400, 413, 414, 431}
    assert server.get("/after")["path"] == "/after"


def test_refusals_that_no_application_sees_are_in_the_access_log() -> None:
    with running(log=True, body_bytes=1_000) as server:
        server.ask(POST + b"x-request-id: early\r\ncontent-length: 1001\r\n\r\n")
        server.ask(POST + b"x-request-id: late\r\ntransfer-encoding: chunked\r\n\r\n" + b"3e9\r\n" + b"x" * 1_001)
        server.ask(b"nonsense\r\n\r\n")
        server.ask(b"GET /fine?a=text HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        server.stop()

    lines = [json.loads(line) for line in server.errors.splitlines()]
    assert sorted((line["status"], line["path"]) for line in lines) == [
        *((200, "/fine"), (400, ""), (413, "/echo"), (413, "/echo")),
    ]
    assert "early" in {line["id"] for line in lines}
    assert {line["client"] for line in lines} == {"127.0.0.1"}


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With its key in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "certificate")]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command = ["openssl", "req", "-x509", *key, "-subj", "/CN=localhost", "-days", "2", *files]
    subprocess.run(command, check=True, capture_output=True)
    both = folder / "both"
    both.write_bytes((folder / "key").read_bytes() + (folder / "certificate").read_bytes())
    return both


def test_over_tls_it_is_the_same(certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=certificate)
    with running(certificate=certificate, body_bytes=1_000, most_connections=20) as server, ExitStack() as stack:
        for _ in range(30):  # who only connects, and says nothing or no TLS
            stack.enter_context(server.socket())
            stack.enter_context(server.socket()).sendall(GET % b"plain")
        client = http.client.HTTPSConnection("localhost", server.port, timeout=PATIENCE, context=trusting)
        client.request("POST", "/echo", b"x" * 900)
        answered = json.loads(client.getresponse().read())
        client.request("POST", "/echo", b"x" * 3_000_000)
        refused = client.getresponse()
        detail = json.loads(refused.read())
        client.close()
        server.stop()

    assert (answered["size"], refused.status, "detail" in detail) == (900, 413, True)
    assert len(server.errors.splitlines()) < 3, server.errors


# The end


def keep_asking(port: int, stop: threading.Event, found: list[tuple[int, int]], faults: list[str]) -> None:
    """One keep-alive client: counts answers, and requests that were sent and got none."""
    answered = lost = 0
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    while not stop.is_set():
        try:
            client.connect()
        except OSError:
            break  # refused before anything was sent: the server is gone
        try:
            while True:
                client.request("POST", "/wait/0.002", b"x" * 100)
                response = client.getresponse()
                response.read()
                answered += response.status == 200
                if response.status != 200 or response.will_close:
                    break
        except (OSError, http.client.HTTPException) as error:
            lost += 1
            faults.append(repr(error))
        client.close()
    found.append((answered, lost))


@pytest.mark.parametrize("number", range(3))
def test_a_stop_under_load_loses_no_request(number: int) -> None:
    found: list[tuple[int, int]] = []
    faults: list[str] = []
    stop = threading.Event()
    with running() as server:
        threads = [threading.Thread(target=keep_asking, args=(server.port, stop, found, faults)) for _ in range(12)]
        for thread in threads:
            thread.start()
        looks = [server.get()["answered"]]
        while looks[-1] < 100 + 37 * number:
            looks.append(server.get()["answered"])
        server.stop()
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)

    assert server.end is not None
    assert sum(lost for _, lost in found) == 0, faults
    assert sum(answered for answered, _ in found) + len(looks) == server.end["answered"] > 100
    assert server.errors == ""


def test_a_connection_between_two_requests_is_not_cut_by_the_stop() -> None:
    with running(stop_seconds=20, grace=20) as server:
        client = server.client()
        client.request("GET", "/first")
        client.getresponse().read()
        server.process.send_signal(signal.SIGTERM)
        until(lambda: not server.listens())
        client.request("GET", "/second")
        response = client.getresponse()
        answer = json.loads(response.read())
        server.finish()

    assert answer["path"] == "/second"
    assert response.getheader("connection") == "close"
    assert server.errors == ""


def test_who_has_connected_is_answered_even_if_not_accepted_yet() -> None:
    with running() as server, ExitStack() as stack:
        os.kill(server.process.pid, signal.SIGSTOP)
        waiting = [stack.enter_context(server.socket()) for _ in range(100)]
        for connection in waiting:
            connection.sendall(GET % b"waited")
        server.process.send_signal(signal.SIGTERM)
        os.kill(server.process.pid, signal.SIGCONT)
        statuses = [status_of(everything(connection)) for connection in waiting]
        server.finish()

    assert statuses == [200] * 100
    assert server.errors == ""


def test_requests_in_flight_are_finished() -> None:
    with running() as server, server.socket() as connection:
        connection.sendall(GET % b"hold" + GET % b"second")
        until(lambda: server.counts()["open"] > 1)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: not server.listens())
        server.release()
        answer = everything(connection)
        server.finish()

    assert answer.count(b"HTTP/1.1 200") == 2
    assert answer.count(b"connection: close") == 1


def test_what_cannot_be_finished_gets_a_503_and_nothing_is_printed() -> None:
    with running(grace=0.5) as server, ExitStack() as stack:
        waiting = [stack.enter_context(server.socket()) for _ in range(20)]
        for number, connection in enumerate(waiting):
            connection.sendall([GET % b"wait/20", POST + b"content-length: 9\r\n\r\nabc", b"GET / HT"][number % 3])
        until(lambda: server.counts()["open"] > 20)
        server.process.send_signal(signal.SIGTERM)
        answers = [everything(connection) for connection in waiting]
        server.finish()

    for answer in answers:
        assert_refused(answer, 503)
    assert server.errors == ""
    assert server.process.returncode in (0, -signal.SIGTERM)
