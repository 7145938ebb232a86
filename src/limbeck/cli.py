"""The command line: one function a command, thin; heavy rooms are imported when a command needs them."""

import functools
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Literal, NoReturn, ParamSpec, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from limbeck import __version__
from limbeck.artifacts.disk import disk_faults_told
from limbeck.cores import share_cores
from limbeck.errors import DependencyMissing, DiskFull, LimbeckError, PathUnusable
from limbeck.progress import rate_line
from limbeck.recipe.stages import Stage

Parameters = ParamSpec("Parameters")
TRAINING = (
    *("accelerate", "datasets", "huggingface_hub", "jinja2", "markupsafe", "matplotlib", "onnx", "pyarrow"),
    *("safetensors", "scipy", "sentencepiece", "sklearn", "torch", "transformers"),
)
SERVING = ("fastapi", "httptools", "prometheus_client", "uvicorn")
OTHERS = {"jieba": "zh", "tensorflow": "tf", "tensorboard": "track", "HanTa": "augment"}
EXTRA_OF = {**dict.fromkeys(TRAINING, "train"), **dict.fromkeys(SERVING, "serve"), **OTHERS}
GO_ON = {"run", "demo"}  # commands that can be stopped and go on from there

app = typer.Typer(
    name="limbeck",
    help="Distil a big fine-tuned text classifier into a small and fast one that runs without PyTorch.",
    epilog="Start with `limbeck demo`, then `limbeck init your.csv`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the command."""
    try:
        app()
    except KeyboardInterrupt:  # before the command itself began
        sys.exit(130)


def _reported(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Print what a user can put right and exit with 2; anything else is a bug and keeps its traceback."""

    @functools.wraps(command)
    def reported(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        name = command.__name__.replace("_", "-")
        try:
            with disk_faults_told(Path("the output"), advice="Correct that, then run the same command again."):
                command(*args, **options)
        except LimbeckError as error:
            if isinstance(error, DiskFull):
                _drop_output()
            _fail(str(error), code=2)
        except ModuleNotFoundError as error:
            missing = _missing_dependency(error, command=name)
            if missing is None:
                raise
            _fail(str(missing), code=2)
        except KeyboardInterrupt:
            kept = ". Everything finished so far is kept; the same command goes on from there" if name in GO_ON else ""
            _fail(f"stopped{kept}", code=130)
        except BrokenPipeError:
            _drop_output()  # the reader has gone (`| head`); there is nobody to tell
            raise typer.Exit(0) from None

    return reported


def _fail(message: str, *, code: int) -> NoReturn:
    first, _, rest = message.partition("\n")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]limbeck:[/bold red] {escape(first)}")
    if rest:
        console.print(rest, markup=False)
    raise typer.Exit(code)


def _missing_dependency(error: BaseException | None, *, command: str) -> DependencyMissing | None:
    """Which package of which extra an import failed for; transformers tells it only as the cause of its own error."""
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in EXTRA_OF:
            return DependencyMissing(package=package, purpose=f"limbeck {command}", extra=EXTRA_OF[package])
        error = error.__cause__ or error.__context__
    return None


def _drop_output() -> None:
    """Whatever is still to be written goes nowhere: Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):  # not a file of the system, in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _starting() -> AbstractContextManager[object]:
    """Something to look at while PyTorch and transformers are loaded, which takes seconds."""
    share_cores()
    return Console(stderr=True).status("starting")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"limbeck {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


@app.command(epilog="Example: `limbeck demo`")
@_reported
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's data and its run.")] = Path("runs"),
) -> None:
    """The whole story offline, in minutes, on a laptop CPU: movie reviews, teacher, student, report."""
    with _starting():
        from limbeck.demo import run_demo

    run_demo(out, console=Console(highlight=False))


@app.command(epilog="Example: `limbeck init reviews.csv` then `limbeck run reviews.toml`")
@_reported
def init(
    data: Annotated[Path, typer.Argument(help="A file of labelled rows: csv, tsv, txt, jsonl or parquet, also .gz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the recipe; left out: beside you, NAME.toml.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text, when the guess is wrong.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a recipe that is already there.")] = False,
) -> None:
    """Look at a file and write a commented recipe for it."""
    from limbeck.corpus.draft import draft_recipe
    from limbeck.corpus.inspection import inspect_file

    recipe = out or Path(data.name.partition(".")[0] + ".toml")
    inspection = inspect_file(data, text=text, pair=pair, label=label)
    _refuse_place(recipe)
    if recipe.exists() and not force:
        advice = "Give another name with --out, or overwrite it with --force."
        raise PathUnusable(path=str(recipe), reason="it is already there", advice=advice)
    recipe.write_text(
        draft_recipe(data, inspection, data_path=str(data.resolve()), recipe_path=str(recipe)), encoding="utf-8"
    )
    console = Console(highlight=False, soft_wrap=True)
    console.print(inspection.summary(), markup=False)
    console.print(f"\nWrote [bold]{escape(str(recipe))}[/bold]. Read it, then: limbeck run {escape(str(recipe))}")


def _refuse_place(path: Path) -> None:
    """Say what is wrong with the name of a file to write, before any work is done for it."""
    if path.is_dir():
        raise PathUnusable(path=str(path), reason="it is a folder", advice="Give the name of a file.")
    if not path.parent.is_dir():
        advice = "Correct the path, or make the folder first."
        raise PathUnusable(path=str(path), reason=f"there is no folder '{path.parent}'", advice=advice)


@app.command(
    epilog="Examples: `limbeck run reviews.toml` · `limbeck run sst2-small --set distillation.seeds=[0,1,2]` · "
    "`limbeck run reviews.toml --until teacher`"
)
@_reported
def run(
    recipe: Annotated[str, typer.Argument(help="A recipe file, a run folder, or the name of a built-in recipe.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. student.hidden_size=300.")
    ] = None,
    until: Annotated[Stage | None, typer.Option(help="Stop behind this stage.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; left out: runs/NAME.")] = None,
) -> None:
    """Everything, from files to report. Run it again and it goes on where it stopped."""
    with _starting():
        from limbeck.pipeline import run as run_recipe

    finished = run_recipe(recipe, overrides=changes or [], until=until, out=out)
    if until in (None, Stage.EVALUATION):
        _show(finished.folder)


@app.command(epilog="Example: `limbeck report runs/sst2-small`")
@_reported
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
) -> None:
    """The tables of a run, and where its report.html is."""
    from limbeck.artifacts.run_folder import report_of
    from limbeck.evaluation.tables import markdown_table

    if markdown:
        typer.echo(markdown_table(report_of(run_folder).data))
    else:
        _show(run_folder)


def _show(run_folder: Path) -> None:
    from limbeck.artifacts.run_folder import report_of
    from limbeck.evaluation.tables import print_report

    found = report_of(run_folder)
    console = Console(highlight=False)
    print_report(found.data, console)
    models = sorted(path for path in (run_folder / "models").glob("*") if path.suffix == "")
    console.print(f"\nReport: [bold]{escape(str(found.html))}[/bold]", soft_wrap=True)
    for model in models:
        console.print(f"Model:  [bold]{escape(str(model))}[/bold]", soft_wrap=True)
    shipped = next((model for model in reversed(models) if not model.name.endswith("-alone")), None)
    if shipped:
        texts = "one text\\tanother text" if found.data["corpus"]["pair"] else "what a gorgeous, witty film"
        console.print(f'\nTry it:  printf "{texts}" | limbeck predict {shipped}', markup=False, soft_wrap=True)


@app.command(
    epilog="Examples: `limbeck labels runs/sst2-small` · `limbeck labels runs/sst2-small --verify --sample 1000` · "
    "`limbeck labels runs/sst2-small --export labels.jsonl`"
)
@_reported
def labels(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Ask the teacher again for some rows, and check every shard it is kept in.")
    ] = False,
    sample: Annotated[int, typer.Option(min=1, help="Rows to ask again with --verify.")] = 256,
    export: Annotated[
        Path | None, typer.Option(help="Write text, split and probabilities: .jsonl, .csv or .parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """What the teacher said of a run's rows: how sure it is, its classes, and how much was in the label store."""
    if export is not None:
        _refuse_place(export)
    with _starting() if verify else nullcontext():
        from limbeck.checks import check_labels

    console = Console(highlight=False)
    if not check_labels(run_folder, is_verified=verify, sample=sample, export=export, console=console, as_json=as_json):
        raise typer.Exit(1)


@app.command(
    epilog="Examples: `limbeck predict runs/sst2/models/bilstm-int8 reviews.csv > labelled.csv` · "
    '`echo "a gorgeous film" | limbeck predict MODEL -`'
)
@_reported
def predict(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    file: Annotated[str, typer.Argument(help="csv, tsv, jsonl or plain lines, also .gz; - is standard input.")] = "-",
    format: Annotated[
        Literal["auto", "csv", "tsv", "jsonl", "lines"], typer.Option(help="Kind of input; auto goes by the name.")
    ] = "auto",
    text: Annotated[str | None, typer.Option(help="Column of the text; left out: `text`, or the only one.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text, for models of pairs.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line of a csv or tsv file is a row; columns go by number.")
    ] = False,
    encoding: Annotated[str, typer.Option(help="Encoding of the input.")] = "utf-8",
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, whatever the input is.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write; left out: standard output.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads the model may use; left out: one for each CPU.")
    ] = None,
) -> None:
    """Stream rows in, rows with label and probabilities out; any length, constant memory, no torch."""
    from limbeck.runtime.classifier import load
    from limbeck.runtime.stream import predict_stream

    classifier = load(model, threads=threads)
    if file == "-" and sys.stdin.isatty():
        typer.echo("reading texts from the terminal, one a line; Ctrl-D ends them", err=True)
    with _sink(out) as sink, _rows_told(is_quiet=out is None and sys.stdout.isatty()) as watch:
        predict_stream(
            classifier,
            sys.stdin.buffer if file == "-" else Path(file),
            sink,
            format=format,
            text=text,
            pair=pair,
            header=not no_header,
            output="jsonl" if as_json else "same",
            encoding=encoding,
            watch=watch,
        )


@contextmanager
def _sink(out: Path | None) -> Iterator[TextIO]:
    """Standard output; or a file, which is there only when all rows are in it, and may be the one that is read."""
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # rows are UTF-8 whatever the terminal is
        yield sys.stdout
        return
    _refuse_place(out)
    scratch = out if out.exists() and not out.is_file() else out.with_name(f"{out.name}.partial")  # out may be a pipe
    try:
        with scratch.open("w", encoding="utf-8", newline="") as sink:
            yield sink
        scratch.replace(out)
    except BaseException:
        if scratch != out:
            scratch.unlink(missing_ok=True)
        raise


def _rows_told(*, is_quiet: bool) -> AbstractContextManager[Callable[[int], None]]:
    """How many rows are done, on the terminal, unless the rows themselves are printed there."""
    return nullcontext(lambda _: None) if is_quiet else rate_line(unit="rows")


@app.command(
    epilog="Examples: `limbeck serve runs/sst2/models/bilstm-int8` · `limbeck serve MODEL --host 0.0.0.0 --threads 4`; "
    "then `curl localhost:8000/predict -H 'content-type: application/json' -d '{\"texts\": [\"a gorgeous film\"]}'`"
)
@_reported
def serve(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8000,
    threads: Annotated[int, typer.Option(min=1, help="Requests the model works on at once.")] = 1,
) -> None:
    """Answer over HTTP, with a page to try the model on; no torch."""
    from limbeck.serving.run import serve as serve_model

    serve_model(model, host=host, port=port, threads=threads, console=Console(highlight=False))


@app.command(
    epilog="Examples: `limbeck import-tf chinese_L-12_H-768_A-12 bert-zh` · "
    "`limbeck import-tf sst2/model.ckpt-6000 sst2-teacher --labels negative,positive`"
)
@_reported
def import_tf(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CKPT", help="Prefix of its files, one of them, or its folder.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write; it must not be there yet, or be empty.")],
    labels: Annotated[
        str | None, typer.Option(help="Names of the classes in the order of output_weights: negative,positive")
    ] = None,
    lowercase: Annotated[
        bool | None, typer.Option("--lowercase/--no-lowercase", help="Lower the case; left out: as its files say.")
    ] = None,
) -> None:
    """Turn a TensorFlow BERT checkpoint, raw or fine-tuned, into a Hugging Face folder to take as the teacher."""
    names = None if labels is None else [name.strip() for name in labels.split(",")]
    with _starting():
        from limbeck.teacher.import_tf import import_tf as import_checkpoint

        imported = import_checkpoint(checkpoint, out, labels=names, lowercase=lowercase)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"Wrote [bold]{escape(str(out))}[/bold]: {escape(imported.summary)}")
    for note in imported.notes:
        console.print(f"  {note}", markup=False)


@app.command(epilog="Example: `limbeck recipes` then `limbeck run sst2-small`")
@_reported
def recipes() -> None:
    """The built-in recipes."""
    from limbeck.recipe.builtin import builtin_recipes

    table = Table(box=None, header_style="bold")
    table.add_column("recipe")
    table.add_column("what it does")
    table.add_column("run it with")
    for recipe in builtin_recipes():
        table.add_row(recipe.name, recipe.summary, recipe.command)
    Console(highlight=False).print(table)
