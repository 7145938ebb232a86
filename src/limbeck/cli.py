"""The command line: one function a command, thin; heavy rooms are imported when a command needs them."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, ParamSpec, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from limbeck import __version__
from limbeck.errors import DependencyMissing, FileMissing, LimbeckError
from limbeck.recipe.stages import Stage

Parameters = ParamSpec("Parameters")
EXTRA_OF = {"jieba": "zh", "fastapi": "serve", "uvicorn": "serve"}  # every other missing package is in `train`

app = typer.Typer(
    name="limbeck",
    help="Distil a big fine-tuned text classifier into one that is hundreds of times faster and a few megabytes small.",
    epilog="Start with `limbeck demo`, then `limbeck init your.csv`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the command."""
    app()


def _reported(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Print what a user can put right and exit with 2; anything else is a bug and keeps its traceback."""

    @functools.wraps(command)
    def reported(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        try:
            command(*args, **options)
        except LimbeckError as error:
            _fail(str(error), code=2)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if not package or package == "limbeck":
                raise
            missing = DependencyMissing(package=package, purpose="this command", extra=EXTRA_OF.get(package, "train"))
            _fail(str(missing), code=2)
        except KeyboardInterrupt:
            _fail("stopped. Everything finished so far is kept; the same command goes on from there", code=130)
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone (`| head`); there is nobody to tell
            raise typer.Exit(0) from None

    return reported


def _fail(message: str, *, code: int) -> NoReturn:
    first, _, rest = message.partition("\n")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]limbeck:[/bold red] {escape(first)}")
    if rest:
        console.print(escape(rest))
    raise typer.Exit(code)


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
    if recipe.exists() and not force:
        _fail(f"'{recipe}' is already there\nGive another name with --out, or overwrite it with --force.", code=2)
    inspection = inspect_file(data, text=text, pair=pair, label=label)
    recipe.write_text(
        draft_recipe(data, inspection, data_path=str(data.resolve()), recipe_path=str(recipe)), encoding="utf-8"
    )
    console = Console(highlight=False)
    console.print(inspection.summary(), markup=False)
    console.print(f"\nWrote [bold]{recipe}[/bold]. Read it, then: [bold]limbeck run {recipe}[/bold]")


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
    from limbeck.artifacts.report import open_report
    from limbeck.evaluation.tables import markdown_table

    if markdown:
        typer.echo(markdown_table(open_report(run_folder / "report").data))
    else:
        _show(run_folder)


def _show(run_folder: Path) -> None:
    from limbeck.artifacts.report import open_report
    from limbeck.evaluation.tables import print_report

    found = open_report(run_folder / "report")
    console = Console(highlight=False)
    print_report(found.data, console)
    models = sorted(path for path in (run_folder / "models").glob("*") if path.suffix == "")
    console.print(f"\nReport: [bold]{found.html}[/bold]")
    for model in models:
        console.print(f"Model:  [bold]{model}[/bold]")
    shipped = next((model for model in reversed(models) if not model.name.endswith("-alone")), None)
    if shipped:
        console.print(f'\nTry it:  echo "what a gorgeous, witty film" | limbeck predict {shipped} -', markup=False)


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
    out: Annotated[Path | None, typer.Option(help="File to write; left out: standard output.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads the model may use.")] = 1,
) -> None:
    """Stream rows in, rows with label and probabilities out; any length, constant memory, no torch."""
    from limbeck.runtime.classifier import load
    from limbeck.runtime.stream import predict_stream

    if file != "-" and not Path(file).is_file():
        raise FileMissing(path=file, looked_in=[Path.cwd()])
    classifier = load(model, threads=threads)
    options: dict[str, Any] = {"format": format, "text": text, "pair": pair}
    if out is None:
        _predict_into(sys.stdout, classifier, file, predict_stream, options)
    else:
        with out.open("w", encoding="utf-8", newline="") as sink:
            _predict_into(sink, classifier, file, predict_stream, options)


def _predict_into(
    sink: TextIO, classifier: Any, file: str, predict_stream: Callable[..., int], options: dict[str, Any]
) -> None:
    if file == "-":
        predict_stream(classifier, sys.stdin.buffer, sink, **options)
    else:
        with Path(file).open("rb") as source:
            predict_stream(classifier, source, sink, **options)


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
