"""Commands that show what is there: report, compare, labels, transfer, augment, recipes."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from limbeck.artifacts.disk import refuse_place
from limbeck.cli.app import app, reported, starting
from limbeck.cli.showing import show_comparison, show_report
from limbeck.errors import PathUnusable
from limbeck.evaluation.tables import Format, Which, written_report


@app.command(
    epilog="Examples: `limbeck report runs/sst2-small` · `limbeck report runs/sst2-small --table cost --format latex`"
)
@reported
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    table: Annotated[Which, typer.Option(help="Which of the tables.")] = Which.ALL,
    form: Annotated[
        Format | None, typer.Option("--format", help="Print the tables in this form; CSV and JSON hold plain numbers.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="The same as --format markdown.")] = False,
) -> None:
    """The tables of a run: quality, relative change, size and speed, classes; and where its report.html is."""
    from limbeck.artifacts.run_folder import report_of

    chosen = form or (Format.MARKDOWN if markdown else None)
    if chosen is None:
        show_report(run_folder, table)
    else:
        typer.echo(written_report(report_of(run_folder).data, table, chosen), nl=False)


@app.command(
    epilog="Examples: `limbeck compare runs/small runs/large` · `limbeck compare runs/* --html compare.html` · "
    "`limbeck compare runs/small runs/large --format csv`"
)
@reported
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Two or more run folders or report.json files.")],
    form: Annotated[
        Format | None, typer.Option("--format", help="Print the tables in this form; CSV and JSON hold plain numbers.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with the picture of accuracy against time of all runs.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a page that is already there.")] = False,
) -> None:
    """Several runs side by side: one table of all models, and how much better each student is than each other."""
    if html is not None:
        _refuse_taken(html, force=force)
    show_comparison(runs, form=form, html=html)


@app.command(
    epilog="Examples: `limbeck labels runs/sst2-small` · `limbeck labels runs/sst2-small --verify --sample 1000` · "
    "`limbeck labels runs/sst2-small --export labels.jsonl`"
)
@reported
def labels(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Ask the teacher again for some rows, and check every shard it is kept in.")
    ] = False,
    sample: Annotated[int, typer.Option(min=1, help="Rows to ask again with --verify.")] = 256,
    export: Annotated[
        Path | None, typer.Option(help="Write text, split and probabilities: .jsonl, .csv or .parquet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is already there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """What the teacher said of a run's rows: how sure it is, its classes, and how much was in the label store."""
    if export is not None:
        _refuse_taken(export, force=force)
    with starting() if verify else nullcontext():
        from limbeck.checks import check_labels

    console = Console(highlight=False)
    if not check_labels(run_folder, is_verified=verify, sample=sample, export=export, console=console, as_json=as_json):
        raise typer.Exit(1)


@app.command(epilog="Examples: `limbeck transfer runs/demo` · `limbeck transfer runs/demo --examples 20`")
@reported
def transfer(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    examples: Annotated[int, typer.Option(min=0, help="Rows to show of each part.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """What the student learned from besides train: gathered text and changed copies, what was dropped, and how sure
    the teacher is of it."""
    from limbeck.checks.transfer import show_transfer

    show_transfer(run_folder, examples=examples, console=Console(highlight=False), as_json=as_json)


@app.command(
    epilog="Examples: `limbeck augment reviews.csv --method masking --method ngram --show 5` · "
    "`limbeck augment reviews.csv --text review --method pos_swap:fraction=0.3`"
)
@reported
def augment(
    file: Annotated[Path, typer.Argument(help="A file of texts: csv, tsv, txt, jsonl or parquet, also .gz.")],
    method: Annotated[
        list[str], typer.Option(metavar="KIND[:KEY=VALUE,…]", help="A method of [augmentation]; may be given again.")
    ],
    show: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 5,
    text: Annotated[str | None, typer.Option(help="Column of the text; left out: `text`, or the only one.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line of a csv or tsv file is a row; columns go by number.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """What augmentation does to texts: some rows before and after, the changes in colour."""
    from limbeck.augmentation.show import show_copies
    from limbeck.progress import TerminalReporter

    show_copies(
        file,
        methods=method,
        show=show,
        text=text,
        pair=pair,
        header=not no_header,
        seed=seed,
        console=Console(highlight=False),
        reporter=TerminalReporter(),
    )


@app.command(epilog="Example: `limbeck recipes` then `limbeck run sst2-small` or `limbeck run sst2-small-tang`")
@reported
def recipes() -> None:
    """The built-in recipes, and the methods that can be put on top of them."""
    from limbeck.recipe.builtin import builtin_methods, builtin_recipes

    console = Console(highlight=False)
    table = Table(box=None, header_style="bold")
    for column in ("recipe", "what it does", "run it with"):
        table.add_column(column)
    for recipe in builtin_recipes():
        table.add_row(recipe.name, recipe.summary, recipe.command)
    console.print(table)
    console.print()
    methods = Table(box=None, header_style="bold")
    for column in ("method", "student and objective"):
        methods.add_column(column)
    for method in builtin_methods():
        methods.add_row(method.name, method.summary)
    console.print(methods)
    console.print()
    console.print('A method goes on top of any recipe: `limbeck run sst2-spkd`, or `extends = "spkd"` in your own.')


def _refuse_taken(path: Path, *, force: bool) -> None:
    """A file that is already there is overwritten only if that was said."""
    refuse_place(path)
    if path.exists() and not force:
        advice = "Give another name, or overwrite it with --force."
        raise PathUnusable(path=str(path), reason="it is already there", advice=advice)
