"""`limbeck search`: the most accurate student within limits of latency and size."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import (
    AllowOption,
    DevOption,
    EncodingOption,
    TestOption,
    TransferOption,
    app,
    fail,
    led_by_first,
    reported,
    starting,
)
from limbeck.errors import in_shell
from limbeck.progress import plain_console


@app.command(
    epilog="Examples: `limbeck search reviews.toml --max-us 100 --max-mb 5` · "
    "`limbeck search reviews.csv --max-us 50 --minutes 60` · `limbeck search runs/reviews --max-mb 2 --trials 80`"
)
@reported
@led_by_first
def search(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="DATA|RECIPE|RUN",
            help="A file of labelled rows, a recipe file, a run folder, or the name of a built-in recipe.",
        ),
    ],
    max_us: Annotated[
        float | None,
        typer.Option(min=0.01, help="Most microseconds for one text, median, on one thread of this machine."),
    ] = None,
    max_mb: Annotated[
        float | None, typer.Option(min=0.01, help="Largest size of the exported model, in millions of bytes.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Students to try, with those of earlier calls. Default: 40; with --minutes no limit."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help="Begin no new trial after this time.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe first.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder. Default: runs/NAME.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random numbers of the search.")] = 0,
    test: TestOption = None,
    dev: DevOption = None,
    transfer: TransferOption = None,
    encoding: EncodingOption = None,
    allow_custom_code: AllowOption = False,
) -> None:
    """Find the most accurate student within limits of latency and size, by training many of them on the labels of one
    run. Run it again and it goes on. Exits with status 1 if no student is within the limits."""
    with starting():
        from limbeck.recipe.calls import allowing_custom_code
        from limbeck.report.tables.terminal import print_grid
        from limbeck.search import show
        from limbeck.search.choice import CostLimits
        from limbeck.search.run import search as find

    limits = CostLimits(max_us=max_us, max_mb=max_mb)
    with allowing_custom_code(allow_custom_code):
        found = find(
            recipe,
            limits=limits,
            trials=trials,
            minutes=minutes,
            seed=seed,
            changes=changes or [],
            out=out,
            transfer=transfer or [],
            test=test,
            dev=dev,
            encoding=encoding,
        )
    console = plain_console(soft_wrap=True)
    print_grid(show.front_grid(found.front, chosen=found.chosen, limits=limits), plain_console())
    console.print(f"All {len(found.trials)} trials: {found.folder / 'search.json'}, {found.folder / 'front.html'}")
    if found.chosen is None:
        near = found.nearest
        advice = f"The nearest: {near.kind} in {near.folder}, {show.numbers(near)}." if near else ""
        fail(f"no student is within {limits} after {len(found.trials)} trials\n{advice}\n{ADVICE}", code=1)
    console.print(f"Chosen: {found.chosen.kind}, {show.numbers(found.chosen)}; {in_shell(found.model)}")
    console.print(f"As a run, with a report: {found.command}")


ADVICE = "Raise the limits, or let it go on with more --trials."
