"""A server with a tiny application and the limits given as JSON; the tests start it in a process of its own."""

import asyncio
import json
import resource
import signal
import socket
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import uvicorn

from limbeck.serving.access_log import AccessLog, Logged
from limbeck.serving.connections import ConnectionLimits
from limbeck.serving.graceful_server import GracefulServer
from limbeck.serving.protocol import protocol_class


class TinyApplication:
    """Answers with the path and the size of the body; `/wait/SECONDS` takes its time, `/early` answers unread.

    `/hold` is answered after SIGUSR1, so that no test depends on how fast the machine is.
    """

    def __init__(self, protocol: Any) -> None:
        self.counts, self.answered, self.holds = protocol.book.counts, 0, True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        size = 0
        more = path != "/early"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            more = message["more_body"]
        if path.startswith("/wait/"):
            await asyncio.sleep(float(path.removeprefix("/wait/")))
        while path == "/hold" and self.holds:
            await asyncio.sleep(0.005)
        if path == "/broken":
            raise RuntimeError("a fault of the application")
        self.answered += 1
        names = [name.decode() for name, _ in scope["headers"]]
        facts = {"path": path, "method": scope["method"], "size": size, "headers": names, "answered": self.answered}
        body = json.dumps(facts | {"counts": asdict(self.counts)} if path == "/counts" else facts).encode()
        body = b"x" * 5_000_000 if path == "/large" else body
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def run(
    limits: dict[str, Any], *, files: int, grace: float, plain: bool, certificate: str | None = None, log: bool = False
) -> None:
    """Print the port, serve until SIGTERM, then print how many requests were answered."""
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    protocol = protocol_class(ConnectionLimits(**limits))
    application = TinyApplication(protocol)
    access_log = AccessLog() if log else None
    protocol.book.log = access_log.add if access_log else None
    served = Logged(application, access_log) if access_log else application
    config = uvicorn.Config(
        served, http="httptools" if plain else protocol, log_level="warning", access_log=False, lifespan="off",
        ssl_certfile=certificate, timeout_graceful_shutdown=grace,  # type: ignore[arg-type]  # a part of a second, to be quick
    )  # fmt: skip
    server = uvicorn.Server(config) if plain else GracefulServer(config)

    def stop(*_: object) -> None:
        server.should_exit = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGUSR1, lambda *_: setattr(application, "holds", False))
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(listener.getsockname()[1], flush=True)
        server.run(sockets=[listener])
    if access_log:
        access_log.close()
    status = Path("/proc/self/status").read_text() if sys.platform == "linux" else "VmHWM: 0 kB"
    peak = int(status.partition("VmHWM:")[2].split()[0])  # getrusage would also give the parent's before the start
    print(json.dumps({"answered": application.answered, "peak_kb": peak, "counts": asdict(application.counts)}))


if __name__ == "__main__":
    warnings.simplefilter("error")
    run(**json.loads(sys.argv[1]))
