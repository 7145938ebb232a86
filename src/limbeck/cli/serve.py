"""`limbeck serve`: a model behind an HTTP port."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from limbeck.cli.app import ENGINE, app, reported
from limbeck.progress import plain_console

if TYPE_CHECKING:
    pass  # loads numpy


@app.command(
    epilog="Examples: `limbeck serve runs/sst2/models/bilstm-int8` · `limbeck serve MODEL --host 0.0.0.0 --threads 4`; "
    "then `curl localhost:8000/predict -H 'content-type: application/json' -d '{\"texts\": [\"a gorgeous film\"]}'`"
)
@reported
def serve(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8000,
    threads: Annotated[int, typer.Option(min=1, help="Requests the model works on at once.")] = 1,
    engine: Annotated[Literal["auto", "native", "onnx"], typer.Option(help=ENGINE)] = "auto",
) -> None:
    """Answer over HTTP, with a page to try the model on; no torch."""
    from limbeck.serving.run import serve as serve_model

    serve_model(model, host=host, port=port, threads=threads, engine=engine, console=plain_console())
