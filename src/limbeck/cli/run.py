"""`limbeck run`: all stages, from files to report."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from limbeck.cli.app import (
    AllowOption,
    DevOption,
    EncodingOption,
    TestOption,
    TransferOption,
    app,
    led_by_first,
    reported,
    starting,
)
from limbeck.cli.label import ExportOption, ImportOption, refuse_taken_batch, without_asking
from limbeck.errors import DataError
from limbeck.progress import plain_console
from limbeck.recipe.stages import Stage

if TYPE_CHECKING:
    from limbeck.annotation.run import WantedLabels


class WhichTexts(StrEnum):
    """Which texts a language model is asked about."""

    ALL = "all"
    RANDOM = "random"
    SPREAD = "spread"
    UNCERTAIN = "uncertain"


@app.command(
    epilog="Examples: `limbeck run reviews.csv` · `limbeck run reviews.csv --test test.csv --transfer more.csv` · "
    "`limbeck run reviews.csv --minutes 10` · "
    "`limbeck run texts.csv --classes refund,shipping,other --endpoint http://localhost:8000/v1 --model NAME` · "
    "`limbeck run reviews.toml --until teacher` · `limbeck run sst2-small --set distillation.seeds=[0,1,2]`"
)
@reported
@led_by_first
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
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="The classes of a file without labels: a language model labels its texts, --model at --endpoint.",
        ),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="A server of chat completions: http://localhost:8000/v1.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The language model, as the server calls it.")
    ] = None,
    key_from: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="The environment variable with the key of the server.")
    ] = None,
    multi_label: Annotated[
        bool, typer.Option("--multi-label", help="With --classes: a text may have several of them, or none.")
    ] = False,
    text: Annotated[str | None, typer.Option(help="With --classes: column of the text.")] = None,
    pair: Annotated[str | None, typer.Option(help="With --classes: column of a second text.")] = None,
    ask: Annotated[
        WhichTexts,
        typer.Option(
            help="With --classes: which texts the model is asked about. All; or, in rounds that end when a first "
            "student stops getting better, random ones, some of each cluster, or those it is unsure about."
        ),
    ] = WhichTexts.ALL,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="CHECKPOINT",
            help="With --ask spread or uncertain: the encoder whose vectors tell texts apart. Default: a small one, if "
            "it is at hand; else their words do.",
        ),
    ] = None,
    max_texts: Annotated[
        int | None, typer.Option(min=1, help="With --classes: ask about at most so many texts.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --classes: say how many texts, tokens and what cost there would be at most; send nothing.",
        ),
    ] = False,
    export_batch: ExportOption = None,
    import_batch: ImportOption = None,
    allow_custom_code: AllowOption = False,
) -> None:
    """Run all stages, from files to report. Run it again and it continues where it stopped.

    Training on several GPUs, of one machine or more: torchrun --nproc-per-node 4 -m limbeck run RECIPE.

    From texts without labels: --classes, --endpoint and --model (docs/endpoint.md)."""
    of_classes = (classes, endpoint, model, key_from, text, pair, max_texts, encoder)
    if multi_label or ask != WhichTexts.ALL or any(one is not None for one in of_classes):
        _refuse_for_texts({"--transfer": transfer, "--test": test, "--dev": dev, "--encoding": encoding})
        given = (classes, endpoint, model)
        wanted = _wanted(
            recipe, *given, key_from, multi_label, text, pair, ask, max_texts, encoder, changes=changes or []
        )
        if _without_asking(recipe, wanted, dry_run=dry_run, export=export_batch, answers=import_batch or []):
            return
        recipe, changes = _annotated(recipe, wanted)
    elif dry_run or export_batch or import_batch:
        what = "--dry-run and batches are for texts without labels here: --classes, --endpoint and --model"
        raise DataError(what, advice=f"For the teacher of a recipe: limbeck label {recipe} --dry-run")
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


def _refuse_for_texts(options: dict[str, object]) -> None:
    """Before anything is paid for."""
    if given := [name for name, value in options.items() if value]:
        what = f"{given[0]} is for a file of labelled rows, and --classes for texts without labels"
        raise DataError(what, advice="Run without it; the recipe that is written can be changed before the next run.")


def _wanted(
    data: str,
    classes: str | None,
    endpoint: str | None,
    model: str | None,
    key_from: str | None,
    multi_label: bool,
    text: str | None,
    pair: str | None,
    ask: WhichTexts,
    max_texts: int | None,
    encoder: str | None,
    *,
    changes: list[str],
) -> "WantedLabels":
    """What a language model is asked for. Raises DataError if something is missing."""
    names = tuple(dict.fromkeys(name.strip() for name in (classes or "").split(",") if name.strip()))
    if endpoint is None or model is None or len(names) < (1 if multi_label else 2):
        what = "texts without labels need --classes (two or more), --endpoint and --model"
        advice = f"limbeck run {data} --classes refund,shipping,other --endpoint http://localhost:8000/v1 --model NAME"
        raise DataError(what, advice=advice)
    with starting():
        from limbeck.annotation.run import WantedLabels
    return WantedLabels(
        classes=names,
        url=endpoint,
        model=model,
        key_from=key_from,
        multi_label=multi_label,
        text=text,
        pair=pair,
        choice=ask.value,
        most_texts=max_texts,
        encoder=encoder,
        overrides=tuple(changes),
    )


def _without_asking(
    data: str, wanted: "WantedLabels", *, dry_run: bool, export: Path | None, answers: Sequence[Path]
) -> bool:
    """Whether this is about the price or a batch, and no more is to be done."""
    if not (dry_run or export or answers):
        return False
    from limbeck.annotation.run import texts_to_ask

    refuse_taken_batch(export, force=False, has_force=False)
    asked = texts_to_ask(Path(data), wanted)
    without_asking(asked, dry_run=dry_run, export=export, answers=answers, as_json=False)
    return True


def _annotated(data: str, wanted: "WantedLabels") -> tuple[str, list[str]]:
    """The recipe for texts that a language model has labelled, and the changes of its keys."""
    from limbeck.annotation.run import annotate

    found = annotate(Path(data), wanted)
    plain_console(stderr=True, soft_wrap=True).print(found.summary)
    return str(found.recipe), wanted.changes
