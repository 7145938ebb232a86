"""`limbeck bench`: models timed side by side."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from limbeck.cli.app import app, reported


@app.command(
    epilog="Examples: `limbeck bench runs/sst2` · `limbeck bench runs/sst2/models/bilstm-int8 --engine all` · "
    "`limbeck bench small/model large/model --teacher my-bert --texts reviews.csv --text review --json`"
)
@reported
def bench(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL…", help="Folders of exported models, or of a run: all its models.")
    ],
    teacher: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A Hugging Face folder to compare with, in PyTorch. Default: a run's teacher."
        ),
    ] = None,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of texts, as for `predict`. Default: built-in texts.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text. Default: `text`, or the only one.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text, for models of pairs.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line of a csv or tsv file is a row; columns have numbers.")
    ] = False,
    engine: Annotated[
        Literal["auto", "onnx", "native", "all"],
        typer.Option(help="What runs the models; auto: the faster one that supports them, all: every one that does."),
    ] = "auto",
    threads: Annotated[
        list[int] | None, typer.Option(min=1, help="Threads. Can be repeated. Default: 1, and one per CPU.")
    ] = None,
    batch: Annotated[
        list[int] | None,
        typer.Option(min=2, help="Rows per call, in addition to 1. Can be repeated. Default: 32, 256."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="Seconds per model and case.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Time models side by side, from text to label, including tokenization: one text per call, and many.

    The models take turns, so that a busy machine slows down all of them alike. Only a teacher needs PyTorch.
    """
    from limbeck.cores import share_cores
    from limbeck.errors import PathUnusable
    from limbeck.progress import TerminalReporter, plain_console, visible_json
    from limbeck.report.bench import print_bench
    from limbeck.timing.bench import bench as measured
    from limbeck.timing.texts import TextFile

    if texts is None and (text is not None or pair is not None or no_header):
        advice = "Name the file with --texts, or omit the columns."
        raise PathUnusable(path="--text", reason="columns are given without a file", advice=advice)
    share_cores()
    result = measured(
        models,
        reporter=TerminalReporter(),
        teacher=teacher,
        texts=None if texts is None else TextFile(texts, text=text, pair=pair, header=not no_header),
        engine=engine,
        threads=threads or (),
        batches=batch or (32, 256),
        seconds=seconds,
    )
    if as_json:
        typer.echo(visible_json(result))
    else:
        print_bench(result, plain_console())
