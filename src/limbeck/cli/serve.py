"""`limbeck serve`: models over HTTP."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from limbeck.cli.app import ENGINE, AbstainOption, app, reported
from limbeck.cli.fallback import (
    FallbackFormatOption,
    FallbackInstructionOption,
    FallbackKeyOption,
    FallbackModelOption,
    FallbackOption,
    FallbackTimeoutOption,
    ShareOption,
    ThresholdOption,
    refuse_fallback_options,
)
from limbeck.progress import plain_console

LIMITS, DOORS, TLS = "Limits", "Who may ask", "HTTPS"


def _variable(name: str) -> str:
    return f"LIMBECK_SERVE_{name}"


@app.command(
    epilog="Examples: `limbeck serve runs/sst2/models/best` · `limbeck serve MODEL --host 0.0.0.0 --workers 4 "
    "--api-key-file keys.txt` · `limbeck serve mood=MODEL topic=MODEL` · `limbeck serve MODEL --fallback TEACHER "
    "--share 0.2`; then `curl localhost:8000/predict -H 'content-type: application/json' "
    '-d \'{"texts": ["a gorgeous film"]}\'`'
)
@reported
def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            help="Folders of exported models, or NAME=FOLDER; the first is the default.", metavar="MODEL..."
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 allows other machines.", envvar=_variable("HOST"))
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.", envvar=_variable("PORT")),
    ] = 8000,
    workers: Annotated[
        int,
        typer.Option(min=1, max=256, help="Processes that answer; they share the port.", envvar=_variable("WORKERS")),
    ] = 1,
    threads: Annotated[
        int,
        typer.Option(min=1, help="Requests that the models of a process compute at once.", envvar=_variable("THREADS")),
    ] = 1,
    engine: Annotated[Literal["auto", "native", "onnx"], typer.Option(help=ENGINE)] = "auto",
    abstain: AbstainOption = True,
    watch: Annotated[
        bool, typer.Option("--watch", help="Load models again when their folders change; SIGHUP does so at any time.")
    ] = False,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Rows of a request.", rich_help_panel=LIMITS, envvar=_variable("MAX_ROWS"))
    ] = 1_000,
    max_characters: Annotated[
        int,
        typer.Option(min=1, help="Characters of a text.", rich_help_panel=LIMITS, envvar=_variable("MAX_CHARACTERS")),
    ] = 100_000,
    max_body: Annotated[
        int, typer.Option(min=100, help="Bytes of a request.", rich_help_panel=LIMITS, envvar=_variable("MAX_BODY"))
    ] = 8_000_000,
    max_wait: Annotated[
        float,
        typer.Option(
            min=0.01,
            help="Seconds of work that may wait before a request; beyond that it is refused with 429.",
            rich_help_panel=LIMITS,
            envvar=_variable("MAX_WAIT"),
        ),
    ] = 2.0,
    max_connections: Annotated[
        int,
        typer.Option(min=8, help="Open connections.", rich_help_panel=LIMITS, envvar=_variable("MAX_CONNECTIONS")),
    ] = 1_000,
    grace: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seconds that requests in progress have to finish when the server is stopped.",
            rich_help_panel=LIMITS,
            envvar=_variable("GRACE"),
        ),
    ] = 8,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            help="Ask for a key: a file with one key a line.", rich_help_panel=DOORS, envvar=_variable("API_KEY_FILE")
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Host name by which the server may be asked, or '*'; can be given several times. Default: with "
            "127.0.0.1 the names of this machine alone, else every name.",
            rich_help_panel=DOORS,
            envvar=_variable("ALLOWED_HOSTS"),
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Origin of pages that browsers let read the answers, e.g. https://example.org; can be given several "
            "times.",
            rich_help_panel=DOORS,
            envvar=_variable("CORS_ORIGINS"),
        ),
    ] = None,
    open_metrics: Annotated[
        bool,
        typer.Option(
            "--open-metrics",
            help="Answer /metrics without a key.",
            rich_help_panel=DOORS,
            envvar=_variable("OPEN_METRICS"),
        ),
    ] = False,
    access_log: Annotated[
        str | None,
        typer.Option(
            help="Write a line of JSON for each request, without its texts; - is standard error.",
            rich_help_panel=DOORS,
            envvar=_variable("ACCESS_LOG"),
        ),
    ] = None,
    ssl_certfile: Annotated[
        Path | None, typer.Option(help="Certificate.", rich_help_panel=TLS, envvar=_variable("SSL_CERTFILE"))
    ] = None,
    ssl_keyfile: Annotated[
        Path | None, typer.Option(help="Its key.", rich_help_panel=TLS, envvar=_variable("SSL_KEYFILE"))
    ] = None,
    ssl_keyfile_password: Annotated[
        str | None,
        typer.Option(help="Password of the key.", rich_help_panel=TLS, envvar=_variable("SSL_KEYFILE_PASSWORD")),
    ] = None,
    fallback: FallbackOption = None,
    share: ShareOption = None,
    threshold: ThresholdOption = None,
    fallback_format: FallbackFormatOption = "auto",
    fallback_model: FallbackModelOption = None,
    fallback_timeout: FallbackTimeoutOption = None,
    fallback_key_from: FallbackKeyOption = None,
    fallback_instruction: FallbackInstructionOption = None,
) -> None:
    """Serve models over HTTP, with a page to try them out; no torch."""
    from limbeck.runtime.fallbacks.opening import FallbackOptions
    from limbeck.serving.access import AccessSettings, ApiKeys, default_hosts, read_keys
    from limbeck.serving.connections import ConnectionLimits
    from limbeck.serving.limits import Limits
    from limbeck.serving.run import serve as serve_models
    from limbeck.serving.served_models import Behind, ModelSource
    from limbeck.serving.settings import ServerSettings, Tls
    from limbeck.serving.work_queue import QueueLimits

    refuse_fallback_options(fallback, share=share, threshold=threshold)
    options = FallbackOptions(
        fallback_format, fallback_model, fallback_timeout, fallback_key_from, fallback_instruction
    )
    tls = (ssl_certfile, ssl_keyfile, ssl_keyfile_password)
    settings = ServerSettings(
        host=host,
        port=port,
        workers=workers,
        threads=threads,
        engine=engine,
        abstain=abstain,
        watch=watch,
        limits=Limits(rows=max_rows, characters=max_characters, body_bytes=max_body),
        queue=QueueLimits(waiting_seconds=max_wait),
        connections=ConnectionLimits(body_bytes=max_body, most_connections=max_connections),
        access=AccessSettings(
            keys=read_keys(api_key_file) if api_key_file else ApiKeys(),
            hosts=tuple(allowed_host or default_hosts(host)),
            origins=tuple(cors_origin or ()),
            open_metrics=open_metrics,
        ),
        access_log=access_log,
        tls=Tls(*tls) if any(tls) else None,
        grace_seconds=grace,
    )
    serve_models(
        [ModelSource.named(model) for model in models],
        settings=settings,
        fallback=Behind(fallback, share=share, threshold=threshold, options=options) if fallback else None,
        console=plain_console(),
    )
