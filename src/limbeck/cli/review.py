"""`limbeck review`: labels that look wrong, rows worth labelling next, classes that overlap."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import AllowOption, app, reported, starting
from limbeck.progress import plain_console, visible_json


@app.command(
    epilog="Examples: `limbeck review runs/reviews` · `limbeck review runs/reviews --next 200` · "
    "`limbeck review runs/reviews --apply runs/reviews/review/labels.csv`"
)
@reported
def review(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    apply: Annotated[
        list[Path] | None,
        typer.Option(
            "--apply",
            metavar="FILE",
            help="Use an edited labels.csv or next.csv of a review: write a corrected corpus and a recipe beside the "
            "run. Can be repeated.",
        ),
    ] = None,
    count: Annotated[int, typer.Option("--next", min=0, help="Most rows to propose for labelling.")] = 100,
    parts: Annotated[
        int, typer.Option(min=2, help="Parts of train; each is judged by models trained on the others.")
    ] = 5,
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors/--no-vectors", help="Also judge by vectors of the encoder that the teacher was made from."
        ),
    ] = True,
    with_teacher: Annotated[
        bool, typer.Option("--with-teacher", help="Also train the teacher again for each part, which takes long.")
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Rows to show; the file has all of them.")] = 10,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite csv files that were edited, or files of an earlier --apply.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    allow_custom_code: AllowOption = False,
) -> None:
    """Find labels that look wrong, unlabelled rows that are worth labelling next, and classes that overlap; with
    --apply, write the corpus that a person has corrected, and a recipe that uses it."""
    with starting():
        from limbeck.recipe.calls import allowing_custom_code
        from limbeck.review import corrections, show
        from limbeck.review.answers import ReviewSettings
        from limbeck.review.run import review as examine

    console = plain_console()
    if apply:
        show.print_applied(corrections.apply_corrections(run_folder, apply, force=force), console)
        return
    settings = ReviewSettings(parts=parts, with_vectors=vectors, with_teacher=with_teacher)
    with allowing_custom_code(allow_custom_code):
        found = examine(run_folder, settings=settings, count=count, force=force)
    if as_json:
        typer.echo(visible_json(found.as_json()))
        return
    show.print_review(found, console, most=rows)
