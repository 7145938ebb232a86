"""`limbeck vectors`: rows with a model's tokens and logits, to check other readers by."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from limbeck.artifacts.disk import refuse_place
from limbeck.cli.app import ENGINE, app, fail, reported


@app.command(
    epilog="Examples: `limbeck vectors runs/reviews/models/best -o vectors.json` · "
    "`limbeck vectors runs/reviews/models/best --check vectors.json --engine native`"
)
@reported
def vectors(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of an exported model.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write them.")] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check this machine against vectors that another one wrote.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, max=100_000, help="How many rows to draw.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Of the generator that draws them.")] = 0,
    engine: Annotated[Literal["auto", "native", "onnx"], typer.Option(help=ENGINE)] = "auto",
) -> None:
    """Write conformance vectors: texts of every kind, with the model's tokens and logits for each.

    Readers of the model in other languages, and other machines, are checked by them: docs/format.md. The status is 1
    if a check finds other tokens, more than one other label in 200, or logits beyond the tolerance.
    """
    from limbeck.packaging.vectors import check_vectors, make_vectors, read_vectors, write_vectors

    if check is not None:
        found = check_vectors(read_vectors(check, folder=model), model, engine=engine)
        typer.echo(json.dumps(found.to_json()))
        raise typer.Exit(0 if found.conforms else 1)
    if out is None:
        fail("say where to write the vectors: -o vectors.json, or what to check: --check vectors.json", code=2)
    refuse_place(out)
    write_vectors(make_vectors(model, rows=rows, seed=seed), out)
    typer.echo(f"{out}: {rows:,} rows, {out.stat().st_size / 1e6:.1f} MB")
