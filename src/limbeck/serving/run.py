"""`limbeck serve`: loads a model, opens a port, answers until it is stopped."""

import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import uvicorn
from rich.console import Console
from rich.text import Text

from limbeck.artifacts.model_folder import ModelFacts, open_model
from limbeck.errors import ServingError, some
from limbeck.progress import plain_console
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import EngineChoice
from limbeck.serving.app import create_app

SECONDS_TO_FINISH = 8  # running requests may finish; docker kills ten seconds after SIGTERM
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class PortTaken(ServingError):
    """Another process listens on the port."""

    def __init__(self, *, host: str, port: int) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"port {port} of {host} is taken by another process",
            advice="Stop that process, or choose another port with --port; --port 0 takes any free one.",
        )


class AddressUnusable(ServingError):
    """The system does not allow listening on this host and port."""

    def __init__(self, *, host: str, port: int, reason: str) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"cannot listen on port {port} of '{host}'",
            found=f"the system says: {reason}",
            advice="Give an address of this machine with --host (127.0.0.1: this machine alone; 0.0.0.0: every "
            "network), and a port from 1024 on with --port.",
        )


def serve(
    model: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    threads: int = 1,
    engine: EngineChoice = "auto",
    console: Console | None = None,
) -> None:
    """Classify texts over HTTP until Ctrl-C or SIGTERM, then finish running requests and return.

    Port 0 takes any free one; the console shows it. `threads` is how many requests are computed at once; `engine` is
    what runs the network, as in `limbeck.load`. Call it from the main thread, which receives signals. Raises
    ArtifactMissing, ArtifactDamaged, FormatTooNew, EngineUnusable, PortTaken or AddressUnusable.
    """
    console = console or plain_console()
    folder = open_model(model)
    classifier = Classifier(folder, threads=1, engine=engine)
    app = create_app(classifier, size_mb=folder.size_mb(), threads=threads)
    with listening(host, port) as listener:
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_FINISH, lifespan="off"
        )
        server = uvicorn.Server(config)
        with _stopped_by_signals(server):
            _print_address(
                console, classifier.facts, size_mb=folder.size_mb(), host=host, port=listener.getsockname()[1]
            )
            server.run(sockets=[listener])
    console.print("Stopped.")


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that accepts connections from now on, so that the address works as soon as it is printed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(host=host, port=port) from error
        raise AddressUnusable(host=host, port=port, reason=error.strerror or str(error)) from error
    with listener:
        # Connections inherit it. Without it, the body of a response waits 40 ms for the client to acknowledge the head;
        # asyncio sets it only on sockets that it opened itself.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the server, not the process.

    Uvicorn handles them itself, but after stopping it passes them to the previous handlers: by default that would end
    the process as if it had failed.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _print_address(console: Console, facts: ModelFacts, *, size_mb: float, host: str, port: int) -> None:
    address = _url(EVERY_ADDRESS.get(host, host), port)
    row = '{"rows": [{"text": "a text", "pair": "another text"}]}' if facts.pair else '{"texts": ["a text"]}'
    lines = [
        f"Serving {facts.name} ({facts.precision}, {size_mb:.1f} MB): {some(facts.labels, most=8)}",
        f"  page  {address}/",
        f"  API   curl {address}/predict -H 'content-type: application/json' -d '{row}'",
    ]
    if not _only_here(host):
        lines.append("  Other machines can reach it, without a password.")
    console.print(Text("\n".join([*lines, "Stop it with Ctrl-C."])), soft_wrap=True)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _only_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
