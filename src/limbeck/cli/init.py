"""`limbeck init`: reads a file and writes a recipe for it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from limbeck.cli.app import DevOption, EncodingOption, TestOption, TransferOption, app, reported
from limbeck.errors import PathUnusable, in_shell
from limbeck.progress import plain_console


@app.command(
    epilog="Examples: `limbeck init reviews.csv` then `limbeck run reviews.toml` · "
    "`limbeck init reviews.csv --test test.csv --transfer unlabelled.csv` · "
    "`limbeck init reviews.csv --text body --label stars`"
)
@reported
def init(
    data: Annotated[Path, typer.Argument(help="A file of labelled rows: csv, tsv, txt, jsonl or parquet, also .gz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the recipe. Default: NAME.toml in the working directory.")
    ] = None,
    test: TestOption = None,
    dev: DevOption = None,
    transfer: TransferOption = None,
    text: Annotated[str | None, typer.Option(help="Column of the text, if the guess is wrong.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    encoding: EncodingOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing recipe.")] = False,
) -> None:
    """Read a file and write a commented recipe for it."""
    from limbeck.drafting.run import draft_for, recipe_of

    recipe = out or recipe_of(data)
    held_out = {split: file for split, file in (("dev", dev), ("test", test)) if file is not None}
    draft = draft_for(
        data,
        recipe=recipe,
        transfer=transfer or [],
        held_out=held_out,
        encoding=encoding,
        text=text,
        pair=pair,
        label=label,
    )
    if recipe.exists() and not force:
        advice = "Give another name with --out, or overwrite it with --force."
        raise PathUnusable(path=str(recipe), reason="it already exists", advice=advice)
    console = plain_console(soft_wrap=True)
    draft.write()
    console.print(draft.summary)
    console.print(Text.assemble("\nWrote ", (str(recipe), "bold"), f". Read it, then: limbeck run {in_shell(recipe)}"))
