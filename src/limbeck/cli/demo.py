"""`limbeck demo`: a complete run, offline."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, reported, starting
from limbeck.progress import plain_console


@app.command(epilog="Example: `limbeck demo`")
@reported
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's data and its run.")] = Path("runs"),
) -> None:
    """A complete run on movie reviews, offline, in minutes on a laptop CPU: teacher, student, report."""
    with starting():
        from limbeck.demo import run_demo

    run_demo(out, console=plain_console())
