"""Where work is done: in this process, or by the workers of a Ray cluster; and what `predict` does with many files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from limbeck.cli.output import row_progress
from limbeck.errors import PathUnusable

if TYPE_CHECKING:
    from limbeck.cluster.asking import RayRunner

RunnerOption = Annotated[
    Literal["local", "ray"] | None,
    typer.Option(help="Where to work: in this process, or by workers on a Ray cluster (extra `ray`)."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="With --runner ray: the cluster, `auto` for the one that this machine belongs to. Default: one of its own "
        "on this machine, which ends with the command.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="With --runner ray: how many. Default: as many as the cluster has room for."),
]


@contextmanager
def asking_on_ray(address: str | None, workers: int | None) -> "Iterator[RayRunner]":
    """What asks teachers on a cluster; refuses at once if there is none."""
    from limbeck.cluster.asking import RayRunner
    from limbeck.cluster.workers import Resources, connected

    resources = Resources(workers=workers, is_on_gpu=True)
    with connected(address, resources=resources) as ray:
        yield RayRunner(ray, resources)


def refuse_with_pieces(**options: object) -> None:
    """Refuse options that only a single stream of rows has."""
    for name, value in options.items():
        if value not in (None, False):
            option = {"as_json": "--json"}.get(name, f"--{name.replace('_', '-')}")
            advice = f"Leave {option} out, or predict one file without --runner."
            raise PathUnusable(
                path="--out", reason=f"a folder of parquet files does not go with {option}", advice=advice
            )


def predict_pieces(
    model: Path,
    files: list[str],
    out: str | None,
    reading: dict[str, Any],
    where: tuple[Literal["local", "ray"], str | None, int | None],
    *,
    abstain: bool,
    threads: int | None,
    engine: Any,
) -> None:
    """Predict files into a folder, and say what came of it."""
    from limbeck.artifacts.file_systems import without_keys
    from limbeck.cluster.pieces import InputForm
    from limbeck.cluster.predict import predict_files
    from limbeck.cluster.workers import Resources
    from limbeck.runtime.classifier import load
    from limbeck.runtime.run_recipe import as_in_training

    if out is None or "-" in files:
        reason = "several files, and files for workers, are predicted into a folder" if out is None else "it is a pipe"
        advice = "Give files, and a folder or its address with --out."
        raise PathUnusable(path="--out" if out is None else "-", reason=reason, advice=advice)
    runner, address, workers = where
    each = threads or (1 if runner == "ray" else None)
    classifier = load(model, abstain=abstain, threads=each, engine=engine)
    with row_progress(is_quiet=False) as watch:
        found = predict_files(
            classifier,
            files,
            out,
            reading=InputForm(**reading, trained=as_in_training(model)),
            runner=runner,
            address=address,
            resources=Resources(workers=workers, threads=each or 1),
            watch=watch,
            note=lambda text: print(text, file=sys.stderr),
        )
    failed = f"; {found.failed:,} of them have no answer, see _limbeck/failed in it" if found.failed else ""
    lost = f"; {found.workers_lost:,} workers were lost and replaced" if found.workers_lost else ""
    typer.echo(f"{found.rows:,} rows in {found.pieces:,} files in {without_keys(out)}{failed}{lost}", err=True)
