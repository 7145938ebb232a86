"""`limbeck drift`: whether a file of rows is still like those that a model was chosen on."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from limbeck.cli.app import app, reported

DRIFT = 1  # the exit status of --exit-code


@app.command(
    epilog="Examples: `limbeck drift runs/reviews/models/best today.csv` · "
    "`limbeck drift MODEL today.jsonl --sample 5000 --looks 52 --exit-code` · `zcat log.gz | limbeck drift MODEL -`"
)
@reported
def drift(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    file: Annotated[
        str, typer.Argument(help="csv, tsv, json, parquet or plain lines, also .gz; - is standard input.")
    ] = "-",
    alpha: Annotated[
        float,
        typer.Option(min=1e-9, max=0.5, help="Chance of a false alarm of any signal in any of the looks, at most."),
    ] = 0.01,
    looks: Annotated[
        int, typer.Option(min=1, help="How many such comparisons are planned in all, each with its own rows.")
    ] = 1,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Compare so many rows of the file, drawn at random. Default: all.")
    ] = None,
    format: Annotated[
        Literal["auto", "csv", "tsv", "jsonl", "parquet", "lines"],
        typer.Option(help="Input format; auto depends on the name, otherwise on the first lines."),
    ] = "auto",
    text: Annotated[
        str | None, typer.Option(help="Column of the text. Default: `text`, the one in training, or the only one.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text, for models of pairs.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns. Default: as in training."),
    ] = None,
    quoting: Annotated[
        bool | None,
        typer.Option(
            "--quoting/--no-quoting", help='Whether " encloses cells of csv and tsv. Default: as in training.'
        ),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of the input.")] = "utf-8",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads the model may use. Default: one per CPU.")] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there is drift, 0 if not.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Compare texts and answers with those on dev: words, confidence, labels, length, features. No torch.

    No labels are needed. What is kept of dev are counts and quantiles in the model's folder, no texts.
    """
    from limbeck.progress import plain_console, rate_line, visible_json
    from limbeck.report.drift import print_drift
    from limbeck.runtime.drift.run import drift as compare

    with rate_line(unit="rows") as watch:
        result = compare(
            model,
            sys.stdin.buffer if file == "-" else Path(file),
            alpha=alpha,
            looks=looks,
            sample=sample,
            format=format,
            text=text,
            pair=pair,
            header=header,
            quoting=quoting,
            encoding=encoding,
            threads=threads,
            watch=watch,
        ).as_json()
    if as_json:
        typer.echo(visible_json(result))
    else:
        print_drift(result, plain_console())
    if exit_code and result["is_drift"]:
        raise typer.Exit(DRIFT)
