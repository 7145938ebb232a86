"""`limbeck serve`: a model over HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from limbeck.cli.app import ENGINE, app, reported
from limbeck.progress import plain_console

if TYPE_CHECKING:
    pass  # loads numpy


@app.command(
    epilog="Examples: `limbeck serve runs/sst2/models/best` · `limbeck serve MODEL --host 0.0.0.0 --threads 4`; "
    "then `curl localhost:8000/predict -H 'content-type: application/json' -d '{\"texts\": [\"a gorgeous film\"]}'`"
)
@reported
def serve(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 allows other machines.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 8000,
    threads: Annotated[int, typer.Option(min=1, help="Requests that the model computes at once.")] = 1,
    engine: Annotated[Literal["auto", "native", "onnx"], typer.Option(help=ENGINE)] = "auto",
) -> None:
    """Serve a model over HTTP, with a page to try it out; no torch."""
    from limbeck.serving.run import serve as serve_model

    serve_model(model, host=host, port=port, threads=threads, engine=engine, console=plain_console())
