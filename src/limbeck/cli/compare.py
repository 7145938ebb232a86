"""`limbeck compare`: several runs side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from limbeck.cli.app import app, refuse_taken, reported
from limbeck.progress import plain_console, visible
from limbeck.report.tables import Format


@app.command(
    epilog="Examples: `limbeck compare runs/small runs/large` · `limbeck compare runs/* --html compare.html` · "
    "`limbeck compare runs/small runs/large --format csv`"
)
@reported
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Two or more run folders or report.json files.")],
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Print the tables in this format; CSV and JSON have plain numbers."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with a plot of accuracy against time for all runs.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing page.")] = False,
) -> None:
    """Compare runs side by side: one table of all models, and the differences between students."""
    if html is not None:
        refuse_taken(html, force=force)
    from limbeck.artifacts.report import faults_as_damage

    with faults_as_damage(*runs):
        show_comparison(runs, form=form, html=html)


def show_comparison(paths: Sequence[Path], *, form: Format | None, html: Path | None) -> None:
    """Print several runs as tables, and write a page. Reasons why they are not comparable are always printed."""
    from limbeck.report.tables.comparison import comparison_page, print_comparison, written_comparison
    from limbeck.report.tables.runs import obstacles, read_runs

    runs = read_runs(paths)
    aside = plain_console(stderr=True, soft_wrap=True)
    if form is None:
        print_comparison(runs, plain_console())
    else:
        typer.echo(visible(written_comparison(runs, form)), nl=False)
        for warning in obstacles(runs):
            aside.print(Text.assemble(("warning:", "yellow"), f" {warning}"))
    if html is not None:
        html.write_text(comparison_page(runs), encoding="utf-8")
        aside.print(Text.assemble("\nWrote ", (str(html), "bold")))
