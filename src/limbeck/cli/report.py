"""`limbeck report`: the tables of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from limbeck.cli.app import app, reported
from limbeck.progress import plain_console, visible
from limbeck.report.tables import Format, Which, written_report

if TYPE_CHECKING:
    from rich.console import Console

    from limbeck.artifacts.report import Report


@app.command(
    epilog="Examples: `limbeck report runs/sst2-small` · `limbeck report runs/sst2-small --table cost --format latex`"
)
@reported
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    table: Annotated[Which, typer.Option(help="Which table to print.")] = Which.ALL,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Print the tables in this format; CSV and JSON have plain numbers."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="The same as --format markdown.")] = False,
) -> None:
    """Print the tables of a run: quality, relative change, size and speed, classes; and where its report.html is."""
    from limbeck.artifacts.report import faults_as_damage
    from limbeck.artifacts.run_folder import report_of

    chosen = form or (Format.MARKDOWN if markdown else None)
    if chosen is None:
        show_report(run_folder, table)
        return
    with faults_as_damage(run_folder):
        typer.echo(visible(written_report(report_of(run_folder).data, table, chosen)), nl=False)


def show_report(run_folder: Path, which: Which = Which.ALL) -> None:
    """Print the tables of a finished run; for all tables, also where its files are."""
    from limbeck.artifacts.report import faults_as_damage
    from limbeck.artifacts.run_folder import report_of
    from limbeck.report.tables import print_report

    found = report_of(run_folder)
    console = plain_console()
    with faults_as_damage(run_folder):
        print_report(found.data, console, which)
        if which == Which.ALL:
            _print_places(run_folder, found, console)


def _print_places(run_folder: Path, found: "Report", console: "Console") -> None:
    from limbeck.report.sentences import try_it

    models = sorted(path for path in (run_folder / "models").glob("*") if path.suffix == "")
    console.print(Text.assemble("\nReport: ", (str(found.html), "bold")), soft_wrap=True)
    for model in models:
        copied = f"  (a copy of {found.data['best']})" if model.name == "best" and found.data.get("best") else ""
        console.print(Text.assemble("Model:  ", (str(model), "bold"), copied), soft_wrap=True)
    others = [model for model in models if not model.name.endswith("-alone")]
    shipped = next((model for model in models if model.name == "best"), others[-1] if others else None)
    if shipped:
        console.print(Text(f"\nTry it:  {try_it(found.data, shipped).command}"), soft_wrap=True)
