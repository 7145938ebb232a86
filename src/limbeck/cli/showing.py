"""A finished run on the terminal."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape


def show_report(run_folder: Path) -> None:
    """The tables of a finished run, and where its files are."""
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
