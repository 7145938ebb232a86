"""`limbeck report`: the tables of a run."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from limbeck.cli.app import app, reported
from limbeck.progress import plain_console
from limbeck.report.tables import Format, Which, written_report


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
    from limbeck.artifacts.run_folder import report_of

    chosen = form or (Format.MARKDOWN if markdown else None)
    if chosen is None:
        show_report(run_folder, table)
    else:
        typer.echo(written_report(report_of(run_folder).data, table, chosen), nl=False)


def show_report(run_folder: Path, which: Which = Which.ALL) -> None:
    """Print the tables of a finished run; for all tables, also where its files are."""
    from limbeck.artifacts.run_folder import report_of
    from limbeck.report.sentences import try_it
    from limbeck.report.tables import print_report

    found = report_of(run_folder)
    console = plain_console()
    print_report(found.data, console, which)
    if which != Which.ALL:
        return
    models = sorted(path for path in (run_folder / "models").glob("*") if path.suffix == "")
    console.print(Text.assemble("\nReport: ", (str(found.html), "bold")), soft_wrap=True)
    for model in models:
        copied = f"  (a copy of {found.data['best']})" if model.name == "best" and found.data.get("best") else ""
        console.print(Text.assemble("Model:  ", (str(model), "bold"), copied), soft_wrap=True)
    others = [model for model in models if not model.name.endswith("-alone")]
    shipped = next((model for model in models if model.name == "best"), others[-1] if others else None)
    if shipped:
        console.print(Text(f"\nTry it:  {try_it(found.data, shipped).command}"), soft_wrap=True)
