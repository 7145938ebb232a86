"""`limbeck push`: a model as a repository of the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, reported
from limbeck.progress import plain_console


@app.command(
    epilog="Examples: `limbeck push runs/reviews ada/reviews` · `limbeck push runs/reviews ada/reviews --dry-run` · "
    '`limbeck push runs/reviews ada/reviews --model bilstm-int8 --private --example "a gorgeous, witty film"`'
)
@reported
def push(
    place: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the folder of a model.")],
    repository: Annotated[str, typer.Argument(metavar="USER/MODEL", help="The repository; it is made if need be.")],
    model: Annotated[str, typer.Option(metavar="NAME", help="Which model of the run.")] = "best",
    example: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A text to try on the model's page. Can be repeated. Default: those of the run's `export.examples`.",
        ),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make the repository a private one.")] = False,
    revision: Annotated[str | None, typer.Option(metavar="BRANCH", help="A branch other than main.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing: show what would be sent.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Keep the files here too.")] = None,
) -> None:
    """Send a model to the Hugging Face Hub: its card with examples, the ONNX file, and its weights for transformers.

    `limbeck.load("hf://user/model")` reads it from there. The token is that of `hf auth login`, or HF_TOKEN.
    """
    from limbeck.publishing.run import push as send

    done = send(
        place,
        repository,
        model=model,
        examples=example or (),
        private=private,
        revision=revision,
        dry_run=dry_run,
        out=out,
    )
    console = plain_console(soft_wrap=True)
    verb = "would send" if done.url is None else "sent"
    console.print(f"{verb} {done.model} to {done.repository}: {sum(done.files.values()) / 1e6:.1f} MB")
    for name, size in done.files.items():
        console.print(f"  {size:>12,}  {name}")
    if not done.has_weights:
        console.print("without weights for transformers: the model is outside of its run, or has several members")
    if done.url is not None:
        console.print(f'{done.url}\nlimbeck.load("hf://{done.repository}")')
