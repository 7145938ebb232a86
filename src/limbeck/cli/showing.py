"""Finished runs on the terminal."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from limbeck.errors import in_shell
from limbeck.evaluation.tables import Format, Which


def show_report(run_folder: Path, which: Which = Which.ALL) -> None:
    """The tables of a finished run, and, with all of them, where its files are."""
    from limbeck.artifacts.run_folder import report_of
    from limbeck.evaluation.tables import print_report

    found = report_of(run_folder)
    console = Console(highlight=False)
    print_report(found.data, console, which)
    if which != Which.ALL:
        return
    models = sorted(path for path in (run_folder / "models").glob("*") if path.suffix == "")
    console.print(f"\nReport: [bold]{escape(str(found.html))}[/bold]", soft_wrap=True)
    for model in models:
        console.print(f"Model:  [bold]{escape(str(model))}[/bold]", soft_wrap=True)
    shipped = next((model for model in reversed(models) if not model.name.endswith("-alone")), None)
    if shipped:
        texts = "one text\\tanother text" if found.data["corpus"]["pair"] else "what a gorgeous, witty film"
        console.print(
            f'\nTry it:  printf "{texts}" | limbeck predict {in_shell(shipped)}', markup=False, soft_wrap=True
        )


def show_comparison(paths: Sequence[Path], *, form: Format | None, html: Path | None) -> None:
    """Several runs on the terminal or in another form, and as a page. What keeps them from comparing is always said."""
    from limbeck.evaluation.tables.comparison import comparison_page, print_comparison, written_comparison
    from limbeck.evaluation.tables.runs import obstacles, read_runs

    runs = read_runs(paths)
    aside = Console(stderr=True, highlight=False, soft_wrap=True)
    if form is None:
        print_comparison(runs, Console(highlight=False))
    else:
        typer.echo(written_comparison(runs, form), nl=False)
        for warning in obstacles(runs):
            aside.print(f"[yellow]warning:[/yellow] {escape(warning)}")
    if html is not None:
        html.write_text(comparison_page(runs), encoding="utf-8")
        aside.print(f"\nWrote [bold]{escape(str(html))}[/bold]")
