"""`limbeck serve`: loads models, opens a port, answers until it is stopped."""

import errno
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from rich.console import Console
from rich.text import Text

from limbeck.errors import ServingError, some
from limbeck.progress import plain_console
from limbeck.serving.access_log import AccessLog
from limbeck.serving.graceful_server import GracefulServer
from limbeck.serving.protocol import protocol_class
from limbeck.serving.served_models import Behind, ModelSource, ServedModel, ServedModels, reloaded
from limbeck.serving.settings import ServerSettings
from limbeck.serving.workers import Supervisor, shared_counters, signals_blocked

BACKLOG = 2_048
RELOAD = getattr(signal, "SIGHUP", None)  # Windows has none
STDERR = "-"  # for the access log
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
    models: Sequence[Path | ModelSource],
    *,
    settings: ServerSettings | None = None,
    fallback: Behind | None = None,
    console: Console | None = None,
) -> None:
    """Classify texts over HTTP until Ctrl-C or SIGTERM, then finish running requests and return.

    The first model is the default. SIGHUP loads all folders again. Port 0 takes any free one; the console shows it.
    `fallback` gives a model what answers where it is unsure. Call it from the main thread, which receives signals.
    Raises what `limbeck.load` raises, PortTaken, AddressUnusable, ModelNameTaken or ModelNameUnusable.
    """
    settings, console = settings or ServerSettings(), console or plain_console()
    _refuse_workers(settings.workers)
    _check_tls(settings)
    _check_access_log(settings)
    sources = [model if isinstance(model, ModelSource) else ModelSource(model) for model in models]
    served = ServedModels.open(sources, engine=settings.engine, fallback=fallback, abstain=settings.abstain)
    with listening(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        if settings.workers == 1:
            wanted = RequestedBySignal()
            with _on_signals(wanted):
                _print_address(console, served, settings=settings, port=port)
                _answer(served, settings, listener, tell=_to(console), wanted=wanted)
        else:
            with signals_blocked():
                _print_address(console, served, settings=settings, port=port)
                _supervise(served, settings, listener, tell=_to(console))
    _to(console)("Stopped.")


def _refuse_workers(workers: int) -> None:
    if workers > 1 and not hasattr(os, "fork"):
        advice = "Leave --workers out, or run several servers behind a proxy."
        raise ServingError("several workers need a system with fork, which Windows has not", advice=advice)


@dataclass
class RequestedBySignal:
    """What signals have asked for."""

    stop: bool = False
    reload: bool = False


def _to(console: Console) -> Callable[[str], None]:
    """Prints a sentence; if nobody reads it any more, the server goes on."""

    def tell(sentence: str) -> None:
        try:
            console.file.write(f"{sentence}\n")
            console.file.flush()
        except (OSError, ValueError):
            return

    return tell


def _supervise(
    served: ServedModels, settings: ServerSettings, listener: socket.socket, *, tell: Callable[[str], None]
) -> None:
    def reload(is_wanted: bool) -> bool:
        if not is_wanted and not (settings.watch and served.have_changed()):
            return False
        before = served.loaded_at
        if sentence := reloaded(served):
            tell(sentence)
        return served.loaded_at != before

    with shared_counters() as folder:
        supervisor = Supervisor(
            count=settings.workers,
            answer=lambda ready: _work(served, settings, listener, tell=tell, ready=ready),
            reload=reload,
            grace_seconds=settings.grace_seconds,
            folder=folder,
            tell=tell,
            stop_listening=listener.close,
        )
        supervisor.run()


def _work(
    served: ServedModels,
    settings: ServerSettings,
    listener: socket.socket,
    *,
    tell: Callable[[str], None],
    ready: Callable[[], None],
) -> None:
    """What a worker does; the first process reloads."""
    wanted = RequestedBySignal()
    with _on_signals(wanted):
        _answer(served, settings, listener, tell=tell, wanted=wanted, ready=ready)


def _answer(
    served: ServedModels,
    settings: ServerSettings,
    listener: socket.socket,
    *,
    tell: Callable[[str], None],
    wanted: RequestedBySignal,
    ready: Callable[[], None] | None = None,
) -> None:
    """Answer requests of this socket until a signal comes."""
    # Not before: it imports prometheus_client, which then decides whether several processes count together.
    from limbeck.serving.app import create_app

    log = _access_log(settings)
    app = create_app(served, settings=settings, log=log)
    parts = app.state.server
    parts.upkeep.tell = tell
    parts.upkeep.watches = settings.watch and ready is None
    protocol = protocol_class(settings.connections)
    if log is not None:
        protocol.book.log = log.add  # also what no application sees
    config = uvicorn.Config(
        app,
        http=protocol,
        proxy_headers=False,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=settings.grace_seconds,
        lifespan="on",
        **_tls(settings),
    )
    server = GracefulServer(config)
    parts.is_stopping = lambda: server.should_exit
    parts.upkeep.book = server.book
    if ready is not None:
        parts.upkeep.on_start = ready

    parts.upkeep.reload_wanted = lambda: wanted.reload
    parts.upkeep.reload_begins = lambda: setattr(wanted, "reload", False)
    server.should_exit = wanted.stop  # a signal may have come before
    server.run(sockets=[listener])
    if log is not None:
        log.close()


def _check_access_log(settings: ServerSettings) -> None:
    """Report a file that cannot be written before anything else happens. Raises PathUnusable."""
    if settings.access_log not in (None, STDERR):
        AccessLog(Path(str(settings.access_log))).close()


def _access_log(settings: ServerSettings) -> AccessLog | None:
    """Each worker has its own, as a thread writes it."""
    if settings.access_log is None:
        return None
    return AccessLog(None if settings.access_log == STDERR else Path(settings.access_log))


class CertificateUnusable(ServingError):
    """The files for HTTPS are not what they should be."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(
            "the files for HTTPS cannot be used",
            found=reason,
            advice="Give a certificate with --ssl-certfile and its key with --ssl-keyfile, both as PEM.",
        )


def _check_tls(settings: ServerSettings) -> None:
    """Load the files once, so that what is wrong with them is reported before anything else happens."""
    if (tls := settings.tls) is None:
        return
    if tls.certificate is None:
        raise CertificateUnusable(reason="there is a key or a password, and no certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key, lambda: tls.password or "")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise CertificateUnusable(reason=str(error)) from error


def _tls(settings: ServerSettings) -> dict[str, Any]:
    tls = settings.tls
    if tls is None:
        return {}
    found = {
        "ssl_certfile": tls.certificate,
        "ssl_keyfile": tls.key,
        "ssl_keyfile_password": tls.password,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that accepts connections from now on, so that the address works as soon as it is printed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
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
def _on_signals(wanted: RequestedBySignal) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the server, not the process; SIGHUP loads the models again.

    Uvicorn handles the first two itself while it runs, but after stopping it passes them to these handlers: by default
    that would end the process as if it had failed.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if number == RELOAD:
            wanted.reload = True
        else:
            wanted.stop = True

    numbers = [signal.SIGINT, signal.SIGTERM, *([] if RELOAD is None else [RELOAD])]
    earlier = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _print_address(console: Console, served: ServedModels, *, settings: ServerSettings, port: int) -> None:
    host, scheme = settings.host, "https" if settings.tls else "http"
    address = _url(EVERY_ADDRESS.get(host, host), port, scheme=scheme)
    row = '{"rows": [{"text": "a text", "pair": "another text"}]}'
    question = row if served.default.facts.pair else '{"texts": ["a text"]}'
    key = "-H 'authorization: Bearer KEY' " if settings.access.keys else ""
    lines = [
        *filter(None, [settings.access.keys.warning]),
        *(_line(model, is_default=len(served) > 1 and model is served.default) for model in served),
        f"  page  {address}/",
        f"  API   curl {address}/predict {key}-H 'content-type: application/json' -d '{question}'",
    ]
    if not _only_here(host) and not settings.access.keys:
        lines.append("  Other machines can reach it, without a password; --api-key-file asks for one.")
    console.print(Text("\n".join([*lines, "Stop it with Ctrl-C."])), soft_wrap=True)


def _line(model: ServedModel, *, is_default: bool) -> str:
    facts, cascade = model.facts, model.cascade
    rest = f"; up to a confidence of {cascade.threshold:.3f} it asks {cascade.fallback.name}" if cascade else ""
    rest += f" ({cascade.note})" if cascade and cascade.note else ""
    name = f"{model.name} (default)" if is_default else model.name
    return f"Serving {name} ({facts.precision}, {model.size_mb:.1f} MB): {some(facts.labels, most=8)}{rest}"


def _url(host: str, port: int, *, scheme: str = "http") -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _only_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
