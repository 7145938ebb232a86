"""`limbeck augment`: rows before and after augmentation."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, reported


@app.command(
    epilog="Examples: `limbeck augment reviews.csv --method masking --method ngram --show 5` · "
    "`limbeck augment reviews.csv --text review --method pos_swap:fraction=0.3`"
)
@reported
def augment(
    file: Annotated[Path, typer.Argument(help="A file of texts: csv, tsv, txt, jsonl or parquet, also .gz.")],
    method: Annotated[
        list[str], typer.Option(metavar="KIND[:KEY=VALUE,…]", help="A method of [augmentation]. Can be repeated.")
    ],
    show: Annotated[int, typer.Option(min=1, help="Rows to show.")] = 5,
    text: Annotated[str | None, typer.Option(help="Column of the text. Default: `text`, or the only one.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line of a csv or tsv file is a row; columns have numbers.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Show what augmentation does to texts: some rows before and after, with the changes in colour."""
    from limbeck.augmentation.show import show_copies
    from limbeck.progress import TerminalReporter, plain_console

    show_copies(
        file,
        methods=method,
        show=show,
        text=text,
        pair=pair,
        header=not no_header,
        seed=seed,
        console=plain_console(),
        reporter=TerminalReporter(),
    )
