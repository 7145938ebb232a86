"""`limbeck predict`: rows in, the same rows with label and probabilities out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
from limbeck.cli.output import row_progress, written_when_complete
from limbeck.cli.runner import AddressOption, RunnerOption, WorkersOption, predict_pieces, refuse_with_pieces
from limbeck.errors import PathUnusable

if TYPE_CHECKING:
    from limbeck.runtime.answers import OutputFormat  # loads numpy
    from limbeck.runtime.cascade import CascadeClassifier, CascadeCount
    from limbeck.runtime.classifier import Classifier
    from limbeck.runtime.engine import EngineChoice
    from limbeck.runtime.fallbacks.opening import FallbackOptions


@app.command(
    epilog="Examples: `limbeck predict runs/sst2/models/best reviews.csv > labelled.csv` · "
    '`echo "a gorgeous film" | limbeck predict MODEL -`'
)
@reported
def predict(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="csv, tsv, json, parquet or plain lines, also .gz; - is standard input. Several files, folders, "
            "patterns and addresses (s3://…) if --out is a folder.",
        ),
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
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a csv or tsv file names the columns; otherwise columns have numbers. "
            "Default: as in training, else yes.",
        ),
    ] = None,
    quoting: Annotated[
        bool | None,
        typer.Option(
            "--quoting/--no-quoting",
            help='Whether " encloses cells of csv and tsv. Default: as in training, else only in csv.',
        ),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of the input.")] = "utf-8",
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, whatever the input is.")] = False,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="File to write: .csv, .tsv or .jsonl, also .gz, or .parquet. With several files or a runner: a "
            "folder, or its address, for parts in parquet. Default: standard output, input's format.",
        ),
    ] = None,
    runner: RunnerOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    abstain: AbstainOption = True,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads the model may use. Default: one per CPU.")] = None,
    engine: Annotated[Literal["auto", "native", "onnx"], typer.Option(help=ENGINE)] = "auto",
    fallback: FallbackOption = None,
    share: ShareOption = None,
    threshold: ThresholdOption = None,
    fallback_format: FallbackFormatOption = "auto",
    fallback_model: FallbackModelOption = None,
    fallback_timeout: FallbackTimeoutOption = None,
    fallback_key_from: FallbackKeyOption = None,
    fallback_instruction: FallbackInstructionOption = None,
) -> None:
    """Classify a stream of rows: each is written with its label and probabilities, or score. Constant memory, no torch.

    Several files go, piece by piece, into a folder of parquet files, in this process or by the workers of a Ray
    cluster; the same command continues where one was stopped (docs/scale.md).

    Probabilities are calibrated on the dev rows of the run that made the model. A model that was exported to abstain
    gives no label where it is not sure enough, and says how sure it is in `score`. With --fallback another model
    answers the rows that this one is not sure of; `answered_by` says of each which of the two did.
    """
    from limbeck.runtime.cascade import CascadeClassifier, CascadeCount
    from limbeck.runtime.fallbacks.opening import FallbackOptions
    from limbeck.runtime.run_recipe import as_in_training
    from limbeck.runtime.stream import predict_stream

    places = files or ["-"]
    if runner or len(places) > 1 or (out and (out.endswith("/") or "://" in out)) or "://" in places[0]:
        refuse_with_pieces(fallback=fallback, share=share, threshold=threshold, as_json=as_json)
        reading = {"text": text, "pair": pair, "format": format, "header": header, "quoting": quoting}
        predict_pieces(
            model,
            places,
            out,
            {**reading, "encoding": encoding},
            (runner or "local", address, workers),
            abstain=abstain,
            threads=threads,
            engine=engine,
        )
        return
    file, written = places[0], Path(out) if out else None
    output, count = _output(written, as_json=as_json), CascadeCount()
    options = FallbackOptions(
        fallback_format, fallback_model, fallback_timeout, fallback_key_from, fallback_instruction
    )
    classifier = _classifier(
        model,
        fallback,
        share=share,
        threshold=threshold,
        options=options,
        abstain=abstain,
        threads=threads,
        engine=engine,
    )
    if file == "-" and sys.stdin.isatty():
        typer.echo("reading texts from the terminal, one per line; end with Ctrl-D", err=True)
    with (
        written_when_complete(written, is_binary=output == "parquet") as sink,
        row_progress(is_quiet=out is None and sys.stdout.isatty()) as watch,
    ):
        predict_stream(
            classifier,
            sys.stdin.buffer if file == "-" else Path(file),
            sink,
            format=format,
            text=text,
            pair=pair,
            trained=as_in_training(model),
            header=header,
            quoting=quoting,
            output=output,
            encoding=encoding,
            watch=watch,
            watch_answers=count.add,
        )
    if isinstance(classifier, CascadeClassifier):
        _report(count, never_asked=classifier.note)


def _classifier(
    model: Path,
    fallback: str | None,
    *,
    share: float | None,
    threshold: float | None,
    options: "FallbackOptions",
    abstain: bool,
    threads: int | None,
    engine: "EngineChoice",
) -> "Classifier | CascadeClassifier":
    """The model, or the cascade. Raises where an option about a fallback has none to be about."""
    from limbeck.runtime.classifier import load
    from limbeck.runtime.fallbacks.opening import cascade_of

    refuse_fallback_options(fallback, share=share, threshold=threshold)
    if fallback is None:
        return load(model, abstain=abstain, threads=threads, engine=engine)
    return cascade_of(
        model,
        fallback,
        share=share,
        threshold=threshold,
        options=options,
        abstain=abstain,
        threads=threads,
        engine=engine,
    )


def _report(found: "CascadeCount", *, never_asked: str | None) -> None:
    """How many rows the fallback answered, why it was never asked, and what went wrong with it."""
    share = f" ({found.by_fallback / found.rows:.1%})" if found.rows else ""
    typer.echo(f"{found.by_fallback:,} of {found.rows:,} rows were answered by the fallback{share}", err=True)
    if never_asked is not None:
        typer.echo(never_asked, err=True)
    if found.failure is not None:
        typer.echo(f"{found.failure.what}: the student answered the rows that it should have got", err=True)
    elif found.note is not None:
        typer.echo(found.note, err=True)


def _output(out: Path | None, *, as_json: bool) -> "OutputFormat":
    """The format to write: from --json, otherwise from the file's extension. Raises if they contradict each other."""
    from limbeck.runtime.answers import output_format

    named = "same" if out is None else output_format(out)
    if not as_json:
        return named
    if out is not None and named not in ("same", "jsonl"):
        advice = "Name it .jsonl, or omit --json."
        raise PathUnusable(path=str(out), reason=f"--json writes JSON lines, but this is {named}", advice=advice)
    return "jsonl"
