"""Commands that make something: demo, init, run."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from limbeck.cli.app import app, reported, starting
from limbeck.cli.showing import show_report
from limbeck.errors import PathUnusable, in_shell
from limbeck.recipe.stages import Stage

TransferOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--transfer",
        metavar="FILE",
        help="Unlabelled text of the same kind, from which the student learns too; may be given several times.",
    ),
]


@app.command(epilog="Example: `limbeck demo`")
@reported
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's data and its run.")] = Path("runs"),
) -> None:
    """The whole story offline, in minutes, on a laptop CPU: movie reviews, teacher, student, report."""
    with starting():
        from limbeck.demo import run_demo

    run_demo(out, console=Console(highlight=False))


@app.command(
    epilog="Examples: `limbeck init reviews.csv` then `limbeck run reviews.toml` · "
    "`limbeck init reviews.csv --transfer unlabelled.csv` · `limbeck init reviews.csv --text body --label stars`"
)
@reported
def init(
    data: Annotated[Path, typer.Argument(help="A file of labelled rows: csv, tsv, txt, jsonl or parquet, also .gz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the recipe; left out: beside you, NAME.toml.")
    ] = None,
    transfer: TransferOption = None,
    text: Annotated[str | None, typer.Option(help="Column of the text, when the guess is wrong.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a recipe that is already there.")] = False,
) -> None:
    """Look at a file and write a commented recipe for it."""
    from limbeck.corpus.drafting import draft_for, recipe_of

    recipe = out or recipe_of(data)
    draft = draft_for(data, recipe=recipe, transfer=transfer or [], text=text, pair=pair, label=label)
    if recipe.exists() and not force:
        advice = "Give another name with --out, or overwrite it with --force."
        raise PathUnusable(path=str(recipe), reason="it is already there", advice=advice)
    console = Console(highlight=False, soft_wrap=True)
    draft.write()
    console.print(draft.told, markup=False)
    console.print(f"\nWrote [bold]{escape(str(recipe))}[/bold]. Read it, then: limbeck run {escape(in_shell(recipe))}")


@app.command(
    epilog="Examples: `limbeck run reviews.csv` · `limbeck run reviews.csv --transfer unlabelled.csv` · "
    "`limbeck run reviews.toml --until teacher` · `limbeck run sst2-small --set distillation.seeds=[0,1,2]`"
)
@reported
def run(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="DATA|RECIPE|RUN",
            help="A file of labelled rows (its recipe is written first, as by `init`), a recipe file, a run folder, "
            "or the name of a built-in recipe.",
        ),
    ],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. student.hidden_size=300.")
    ] = None,
    until: Annotated[Stage | None, typer.Option(help="Stop behind this stage.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; left out: runs/NAME.")] = None,
    transfer: TransferOption = None,
) -> None:
    """Everything, from files to report. Run it again and it goes on where it stopped."""
    from limbeck.corpus.drafting import draft_to_run

    draft = draft_to_run(recipe, transfer=transfer or [])
    with starting():
        from limbeck.pipeline import run as run_recipe

    if draft is not None:
        draft.write()
        Console(stderr=True, highlight=False, soft_wrap=True).print(draft.told, markup=False)
        recipe = str(draft.recipe)
    finished = run_recipe(recipe, overrides=changes or [], until=until, out=out)
    if until in (None, Stage.EVALUATION):
        show_report(finished.folder)
