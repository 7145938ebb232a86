"""`limbeck label`: asks the teacher; for a language model behind an address also costs, and files for batches."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from limbeck.cli.app import AllowOption, app, led_by_first, refuse_taken, reported, starting
from limbeck.cli.runner import AddressOption, RunnerOption, WorkersOption, asking_on_ray
from limbeck.progress import plain_console, visible_json

if TYPE_CHECKING:
    from limbeck.pipeline.label import AskedOf, Forecast


ExportOption = Annotated[
    Path | None,
    typer.Option(
        "--export-batch",
        metavar="FILE.jsonl",
        help="Write the requests for a server's batch interface (OpenAI's format) instead of sending them; several "
        "files where one would be too large.",
    ),
]
ImportOption = Annotated[
    list[Path] | None,
    typer.Option("--import-batch", metavar="FILE.jsonl", help="Store the answers of a batch. Can be repeated."),
]


@app.command(
    epilog="Examples: `limbeck label intents.toml --dry-run` · `limbeck label intents.toml --set teacher.max_cost=5` · "
    "`limbeck label intents.toml --export-batch batch.jsonl` · "
    "`limbeck label intents.toml --import-batch answers.jsonl`"
)
@reported
@led_by_first
def label(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE|RUN", help="A recipe file, or a run folder.")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. teacher.max_requests=500."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder. Default: runs/NAME.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how many texts, tokens and what cost there would be; send nothing."),
    ] = False,
    export_batch: ExportOption = None,
    import_batch: ImportOption = None,
    runner: RunnerOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
    allow_custom_code: AllowOption = False,
) -> None:
    """Ask the teacher for the labels of all rows, and keep them; `limbeck run` goes on from there. For a language model
    behind an address (docs/endpoint.md): what it will cost, and files for batch interfaces. With --runner ray the
    workers of a Ray cluster ask it (docs/scale.md); the same command continues where one was stopped."""
    refuse_taken_batch(export_batch, force=force)
    with starting():
        from limbeck.pipeline.label import RowsToLabel, ask_teacher
        from limbeck.recipe.calls import allowing_custom_code

    with allowing_custom_code(allow_custom_code):
        if not (dry_run or export_batch or import_batch):
            if runner == "ray":
                with asking_on_ray(address, workers) as elsewhere:
                    ask_teacher(recipe, overrides=changes or [], out=out, runner=elsewhere)
            else:
                ask_teacher(recipe, overrides=changes or [], out=out)
            return
        rows = RowsToLabel(recipe, overrides=changes or [], out=out)
    for section in rows.teachers:
        asked = rows.of(section)
        without_asking(asked, dry_run=dry_run, export=export_batch, answers=import_batch or [], as_json=as_json)


def without_asking(
    asked: "AskedOf", *, dry_run: bool, export: Path | None, answers: Sequence[Path], as_json: bool
) -> None:
    """What is done about a teacher that is paid, without sending it anything."""
    if answers:
        _show(asked.read(answers).__dict__, as_json=as_json, text=_imported)
    if export:
        count, files = asked.export(export)
        _show({"requests": count, "files": [str(file) for file in files]}, as_json=as_json, text=_exported)
    if dry_run:
        _show_forecast(asked.forecast(), as_json=as_json)


def refuse_taken_batch(path: Path | None, *, force: bool, has_force: bool = True) -> None:
    """Refuse to overwrite files of an earlier export, of which a second one would be left beside a shorter new one."""
    if path is not None:
        for place in (path, path.with_name(f"{path.stem}-2{path.suffix}")):
            refuse_taken(place, force=force, has_force=has_force)


def _show_forecast(forecast: "Forecast", *, as_json: bool) -> None:
    by_votes = forecast.by_votes.__dict__ if forecast.by_votes else None
    numbers = {**forecast.__dict__, "spent": forecast.spent.__dict__, "by_votes": by_votes}
    _show(numbers, as_json=as_json, text=_forecast)


def _show(numbers: dict[str, Any], *, as_json: bool, text: Any) -> None:
    if as_json:
        typer.echo(visible_json(numbers))
    else:
        plain_console(soft_wrap=True).print(text(numbers))


def _imported(found: dict[str, Any]) -> str:
    parts = [f"{found['answers']:,} answers stored"]
    parts += [f"{found['known']:,} were known"] if found["known"] else []
    parts += [f"{found['unreadable']:,} failed or name no class"] if found["unreadable"] else []
    parts += [f"{found['others']:,} belong to another teacher or to other texts"] if found["others"] else []
    if found["others"] and not found["answers"] + found["known"]:
        parts.append("was the question (model, instruction, descriptions, classes) changed after the export?")
    return "; ".join(parts)


def _exported(found: dict[str, Any]) -> str:
    if not found["requests"]:
        return "Every text has its answer: there is nothing to ask"
    return f"Wrote {found['requests']:,} requests to {', '.join(found['files'])}"


def _money(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.2g}"


def _forecast(found: dict[str, Any]) -> str:
    about = "about " if found["is_estimate"] else ""
    lines = [
        f"{found['teacher']}: {found['texts']:,} distinct texts, {found['known']:,} of them answered already",
        f"  to ask: {found['requests']:,} requests, {about}{found['tokens_in']:,} tokens in and "
        f"{found['tokens_out']:,} out",
    ]
    if found["cost"] is not None:
        lines.append(f"  cost: {about}{_money(found['cost'])}")
    elif found["requests"]:
        lines.append("  cost: unknown without prices, e.g. --set teacher.prices.input_per_million=0.15")
    if (votes := found["by_votes"]) and found["requests"]:
        cost = "" if found["cost_by_votes"] is None else f", cost {_money(found['cost_by_votes'])}"
        lines.append(
            f"  if the server has no logprobs, by votes: up to {votes['requests']:,} requests, {about}"
            f"{votes['tokens_in']:,} tokens in and {votes['tokens_out']:,} out{cost}"
        )
    if found["is_estimate"]:
        how = "an estimate by words and signs; teacher.tokenizer counts exactly"
        if found["correction"] != 1.0:
            how = f"an estimate, corrected by {found['correction']:.2f}: what the server has counted so far"
        lines.append(f"  tokens are {how}")
    spent = found["spent"]
    if spent["requests"]:
        tokens = spent["tokens_in"] + spent["tokens_out"]
        lines.append(f"  spent so far: {spent['requests']:,} requests, {tokens:,} tokens")
    if found["limits"]:
        lines.append(f"  it will stop before the end: {', '.join(found['limits'])} in [teacher]")
    return "\n".join(lines)
