"""Commands that make something: demo, init, run."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from limbeck.cli.app import app, refuse_place, reported, starting
from limbeck.cli.showing import show_report
from limbeck.errors import PathUnusable
from limbeck.recipe.stages import Stage


@app.command(epilog="Example: `limbeck demo`")
@reported
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's data and its run.")] = Path("runs"),
) -> None:
    """The whole story offline, in minutes, on a laptop CPU: movie reviews, teacher, student, report."""
    with starting():
        from limbeck.demo import run_demo

    run_demo(out, console=Console(highlight=False))


@app.command(epilog="Example: `limbeck init reviews.csv` then `limbeck run reviews.toml`")
@reported
def init(
    data: Annotated[Path, typer.Argument(help="A file of labelled rows: csv, tsv, txt, jsonl or parquet, also .gz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the recipe; left out: beside you, NAME.toml.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text, when the guess is wrong.")] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a recipe that is already there.")] = False,
) -> None:
    """Look at a file and write a commented recipe for it."""
    from limbeck.corpus.draft import draft_recipe
    from limbeck.corpus.inspection import inspect_file

    recipe = out or Path(data.name.partition(".")[0] + ".toml")
    inspection = inspect_file(data, text=text, pair=pair, label=label)
    refuse_place(recipe)
    if recipe.exists() and not force:
        advice = "Give another name with --out, or overwrite it with --force."
        raise PathUnusable(path=str(recipe), reason="it is already there", advice=advice)
    recipe.write_text(
        draft_recipe(data, inspection, data_path=str(data.resolve()), recipe_path=str(recipe)), encoding="utf-8"
    )
    console = Console(highlight=False, soft_wrap=True)
    console.print(inspection.summary(), markup=False)
    console.print(f"\nWrote [bold]{escape(str(recipe))}[/bold]. Read it, then: limbeck run {escape(str(recipe))}")


@app.command(
    epilog="Examples: `limbeck run reviews.toml` · `limbeck run sst2-small --set distillation.seeds=[0,1,2]` · "
    "`limbeck run reviews.toml --until teacher`"
)
@reported
def run(
    recipe: Annotated[str, typer.Argument(help="A recipe file, a run folder, or the name of a built-in recipe.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. student.hidden_size=300.")
    ] = None,
    until: Annotated[Stage | None, typer.Option(help="Stop behind this stage.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; left out: runs/NAME.")] = None,
) -> None:
    """Everything, from files to report. Run it again and it goes on where it stopped."""
    with starting():
        from limbeck.pipeline import run as run_recipe

    finished = run_recipe(recipe, overrides=changes or [], until=until, out=out)
    if until in (None, Stage.EVALUATION):
        show_report(finished.folder)
