"""A server on this machine that answers as it is asked to, with every fault that a server may have."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

Answer = Callable[[str, Any], Any]  # (method and path, body) → JSON or bytes; or it raises a Fault


class Fault(Exception):
    """What a server does in place of an answer: the name of a method of the handler."""

    def __init__(self, kind: str, *, status: int = 500) -> None:
        super().__init__(kind)
        self.kind, self.status = kind, status


def always(found: Any) -> Answer:
    """The same answer to every question; a Fault is raised."""

    def answer(*_: Any) -> Any:
        if isinstance(found, Fault):
            raise found
        return found

    return answer


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    timeout = 5

    @property
    def script(self) -> "ScriptedServer":
        return cast("Listener", self.server).script

    def setup(self) -> None:
        self.script.connections += 1
        super().setup()

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked has gone
            super().handle()

    def do_GET(self) -> None:
        self.respond(f"GET {self.path}", None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.respond(f"POST {self.path}", json.loads(body))

    def respond(self, question: str, body: Any) -> None:
        self.script.asked.append((question, body))
        self.script.headers.append({name.lower(): value for name, value in self.headers.items()})
        try:
            found = self.script.answer(question, body)
        except Fault as fault:
            self.close_connection = True
            getattr(self, fault.kind)(fault)
            return
        self.send(200, found if isinstance(found, bytes) else json.dumps(found).encode())

    def send(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def status(self, fault: Fault) -> None:
        self.send(fault.status, b'{"detail": "secret text"}')

    def redirect(self, _: Fault) -> None:
        self.send(302, b"", location="http://127.0.0.2:1/elsewhere")

    def silent(self, _: Fault) -> None:
        self.script.goes_on.wait(5)

    def dripping(self, _: Fault) -> None:
        self.send(200, b" ", **{"content-length": "1000000"})
        while not self.script.goes_on.wait(0.02):
            self.wfile.write(b" ")

    def cut(self, _: Fault) -> None:
        self.send(200, b'{"predictions": [', **{"content-length": "1000"})

    def reset(self, _: Fault) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def huge(self, _: Fault) -> None:
        self.send(200, b"[" + b"1," * 2_000_000 + b"1]")

    def endless(self, _: Fault) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.script.goes_on.is_set():
            self.wfile.write(b"1" * 100_000)

    def no_http(self, _: Fault) -> None:
        self.wfile.write(b"SSH-2.0-OpenSSH\r\n")

    def log_message(self, *args: Any) -> None:
        pass


class Listener(ThreadingHTTPServer):
    """Knows whose it is."""

    daemon_threads = True
    script: "ScriptedServer"


class ScriptedServer:
    """Answers with what `answer` returns; `asked` has every question, `connections` how many there were."""

    def __init__(self) -> None:
        self.answer: Answer = always({})
        self.asked: list[tuple[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.goes_on = threading.Event()  # set when the test ends: nobody waits longer
        self._listener = Listener(("127.0.0.1", 0), Handler)
        self._listener.script = self
        self._thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    @property
    def questions(self) -> list[str]:
        """Method and path of each."""
        return [question for question, _ in self.asked]

    def close(self) -> None:
        """Stop it, and everybody who waits in it; a second time does nothing."""
        if self.goes_on.is_set():
            return
        self.goes_on.set()
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server to script."""
    scripted = ScriptedServer()
    yield scripted
    scripted.close()
