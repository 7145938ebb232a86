"""`limbeck labels`: the teacher's labels."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, refuse_taken, reported, starting
from limbeck.progress import plain_console


@app.command(
    epilog="Examples: `limbeck labels runs/sst2-small` · `limbeck labels runs/sst2-small --verify --sample 1000` · "
    "`limbeck labels runs/sst2-small --export labels.jsonl`"
)
@reported
def labels(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Ask the teacher again about some rows, and check every shard of its store."),
    ] = False,
    sample: Annotated[int, typer.Option(min=1, help="Rows to ask about with --verify.")] = 256,
    export: Annotated[
        Path | None, typer.Option(help="Write text, split and probabilities: .jsonl, .csv or .parquet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Show the teacher's labels of a run: how sure it is, its classes, and how many were in the label store."""
    if export is not None:
        refuse_taken(export, force=force)
    with starting() if verify else nullcontext():
        from limbeck.pipeline.labels import check_labels

    console = plain_console()
    if not check_labels(run_folder, is_verified=verify, sample=sample, export=export, console=console, as_json=as_json):
        raise typer.Exit(1)
