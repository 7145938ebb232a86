"""`limbeck predict`: rows in, the same rows with label and probabilities out."""

import gzip
import io
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal, TextIO

import typer

from limbeck.artifacts.disk import refuse_place
from limbeck.cli.app import ENGINE, app, reported
from limbeck.errors import PathUnusable

if TYPE_CHECKING:
    from limbeck.runtime.answers import OutputFormat  # loads numpy
    from limbeck.runtime.entries import Trained


@app.command(
    epilog="Examples: `limbeck predict runs/sst2/models/best reviews.csv > labelled.csv` · "
    '`echo "a gorgeous film" | limbeck predict MODEL -`'
)
@reported
def predict(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    file: Annotated[
        str, typer.Argument(help="csv, tsv, json, parquet or plain lines, also .gz; - is standard input.")
    ] = "-",
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
        Path | None,
        typer.Option(
            help="File to write: .csv, .tsv or .jsonl, also .gz, or .parquet. Default: standard output, input's format."
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads the model may use. Default: one per CPU.")] = None,
    engine: Annotated[Literal["auto", "native", "onnx"], typer.Option(help=ENGINE)] = "auto",
) -> None:
    """Classify a stream of rows: each is written with its label and probabilities. Constant memory, no torch.

    Probabilities are calibrated on the dev rows of the run that made the model.
    """
    from limbeck.runtime.classifier import load
    from limbeck.runtime.stream import predict_stream

    output = _output(out, as_json=as_json)
    classifier = load(model, threads=threads, engine=engine)
    if file == "-" and sys.stdin.isatty():
        typer.echo("reading texts from the terminal, one per line; end with Ctrl-D", err=True)
    with (
        _sink(out, is_binary=output == "parquet") as sink,
        _row_progress(is_quiet=out is None and sys.stdout.isatty()) as watch,
    ):
        predict_stream(
            classifier,
            sys.stdin.buffer if file == "-" else Path(file),
            sink,
            format=format,
            text=text,
            pair=pair,
            trained=_as_in_training(model),
            header=header,
            quoting=quoting,
            output=output,
            encoding=encoding,
            watch=watch,
        )


def _as_in_training(model: Path) -> "Trained":
    """The format of the rows in the recipe of the model's run; empty for a model outside a run."""
    from limbeck.runtime.entries import Trained

    try:
        recipe = tomllib.loads((model.resolve().parents[1] / "recipe.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError, IndexError):
        return Trained()
    corpus = recipe.get("corpus")
    keys = corpus if isinstance(corpus, dict) else {}
    columns = {role: keys[role] for role in ("text", "pair") if type(keys.get(role)) in (str, int)}
    switches = {key: keys[key] for key in ("header", "quoting") if isinstance(keys.get(key), bool)}
    has_tabs = keys.get("format", "auto") in ("auto", "tsv") and ".txt" in Path(str(keys.get("train"))).suffixes
    return Trained(**columns, **switches, had_tabs=has_tabs)


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


@contextmanager
def _sink(out: Path | None, *, is_binary: bool) -> Iterator[TextIO | BinaryIO]:
    """Standard output, or a file, which appears only when it is complete, and may be the input file."""
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # rows are UTF-8 whatever the terminal's encoding is
        yield sys.stdout
        return
    refuse_place(out)
    scratch = out if out.exists() and not out.is_file() else out.with_name(f"{out.name}.partial")  # out may be a pipe
    try:
        with _opened(scratch, is_packed=out.suffix.lower() == ".gz", is_binary=is_binary) as sink:
            yield sink
        scratch.replace(out)
    except BaseException:
        if scratch != out:
            scratch.unlink(missing_ok=True)
        raise


def _opened(path: Path, *, is_packed: bool, is_binary: bool) -> TextIO | BinaryIO:
    if is_binary:
        return path.open("wb")
    if is_packed:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


def _row_progress(*, is_quiet: bool) -> AbstractContextManager[Callable[[int], None]]:
    """Shows the number of finished rows on the terminal, unless the rows themselves are printed there."""
    from limbeck.progress import rate_line

    return nullcontext(lambda _: None) if is_quiet else rate_line(unit="rows")
