"""`limbeck pretrain`: a student for many tasks, taught by encoders on general text."""

import json
from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, led_by_first, reported, starting
from limbeck.progress import plain_console
from limbeck.recipe.files import GENERAL_FOLDER


@app.command(
    epilog="Examples: `limbeck pretrain reviews.toml` · `limbeck pretrain english --set transfer.rows=100000`, then "
    '`student.start = "general:NAME"` in a recipe'
)
@reported
@led_by_first
def pretrain(
    recipe: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="A recipe with [general], [transfer] and [student], or a built-in one."),
    ],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe first.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of all general students.")] = GENERAL_FOLDER,
) -> None:
    """Teach the body of a student what encoders make of general text, once: sentence vectors to a student of words,
    layers and masked words to a transformer. Students of any task start from it with `student.start`. Needs no labels.
    A stopped run continues with the same command.

    Training on several GPUs, of one machine or more: torchrun --nproc-per-node 4 -m limbeck pretrain RECIPE."""
    with starting():
        from limbeck.pipeline.general import pretrain as teach

    made = teach(recipe, overrides=changes or [], out=out)
    facts, console = made.facts, plain_console(soft_wrap=True)
    console.print(f"\nGeneral student:  {made.folder}")
    start = f"general:{facts.name}" if out == GENERAL_FOLDER else str(made.folder)
    console.print("Start from it, in a recipe:\n\n[student]")
    of_words = {**facts.shape, "embedding_size": facts.width}
    keys = {"kind": facts.kind, "start": start, **({} if facts.kind == "transformer" else of_words)}
    for key, value in keys.items():
        console.print(f"{key} = {json.dumps(value)}")
