"""`limbeck doctor`: finds what is wrong or suspicious in a recipe or a run."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from limbeck.cli.app import AllowOption, app, reported, starting
from limbeck.progress import plain_console


@app.command(
    epilog="Examples: `limbeck doctor reviews.csv` · `limbeck doctor reviews.toml` · "
    "`limbeck doctor sst2-small --set corpus.max_rows=500` · `limbeck doctor runs/sst2-small --json`"
)
@reported
def doctor(
    target: Annotated[
        str,
        typer.Argument(
            metavar="DATA|RECIPE|RUN",
            help="A file of labelled rows (with the recipe that `init` would write), a recipe file, the name of a "
            "built-in recipe, or a run folder.",
        ),
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe, or of the run's recipe, first."),
    ] = None,
    no_ask: Annotated[
        bool, typer.Option("--no-ask", help="Do not open the teacher; its answers are not checked again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
    allow_custom_code: AllowOption = False,
) -> None:
    """Find what is wrong or suspicious in a recipe, before a run costs money, or in a run: evidence and what to do.
    Exits with status 1 if there are errors."""
    from limbeck.drafting.run import draft_to_run

    draft = draft_to_run(target)
    with starting():
        from limbeck.doctor import doctor as examine
        from limbeck.recipe.calls import allowing_custom_code

    console = plain_console()
    with allowing_custom_code(allow_custom_code), TemporaryDirectory(prefix="limbeck-doctor-") as scratch:
        recipe = target if draft is None else str(draft.kept_in(Path(scratch)))
        is_fine = examine(
            recipe, called=target, changes=changes or [], asks=not no_ask, as_json=as_json, console=console
        )
    if not is_fine:
        raise typer.Exit(1)
