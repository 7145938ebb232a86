"""`limbeck transfer`: the extra text that the student was trained on."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, reported
from limbeck.progress import plain_console


@app.command(epilog="Examples: `limbeck transfer runs/demo` · `limbeck transfer runs/demo --examples 20`")
@reported
def transfer(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    examples: Annotated[int, typer.Option(min=0, help="Rows to show of each part.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Show the text that the student was trained on in addition to train: gathered text and changed copies, what was
    dropped, and how sure the teacher is."""
    from limbeck.report.transfer import show_transfer

    show_transfer(run_folder, examples=examples, console=plain_console(), as_json=as_json)
