"""`limbeck run`: all stages, from files to report."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import AllowOption, DevOption, EncodingOption, TestOption, TransferOption, app, reported, starting
from limbeck.progress import plain_console
from limbeck.recipe.stages import Stage


@app.command(
    epilog="Examples: `limbeck run reviews.csv` · `limbeck run reviews.csv --test test.csv --transfer more.csv` · "
    "`limbeck run reviews.csv --minutes 10` · "
    "`limbeck run reviews.toml --until teacher` · `limbeck run sst2-small --set distillation.seeds=[0,1,2]`"
)
@reported
def run(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="DATA|RECIPE|RUN",
            help="A file of labelled rows (a recipe for it is written first, as by `init`), a recipe file, a run "
            "folder, or the name of a built-in recipe.",
        ),
    ],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. student.hidden_size=300.")
    ] = None,
    until: Annotated[Stage | None, typer.Option(help="Stop after this stage.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder. Default: runs/NAME.")] = None,
    test: TestOption = None,
    dev: DevOption = None,
    transfer: TransferOption = None,
    encoding: EncodingOption = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.5, help="Plan rows, epochs and copies so that the run takes about so long on this machine."),
    ] = None,
    allow_custom_code: AllowOption = False,
) -> None:
    """Run all stages, from files to report. Run it again and it continues where it stopped."""
    from limbeck.drafting.run import draft_to_run

    draft = draft_to_run(recipe, transfer=transfer or [], held_out={"dev": dev, "test": test}, encoding=encoding)
    with starting():
        from limbeck.pipeline import run as run_recipe

    if draft is not None:
        if out is None:
            draft.refuse_run_of_other_data(changes or [])
        draft.write()
        plain_console(stderr=True, soft_wrap=True).print(draft.summary)
        recipe = str(draft.recipe)
    finished = run_recipe(
        recipe,
        overrides=changes or [],
        until=until,
        out=out,
        minutes=minutes,
        allow_custom_code=allow_custom_code,
    )
    if until in (None, Stage.EVALUATION):
        from limbeck.cli.report import show_report

        show_report(finished.folder)
