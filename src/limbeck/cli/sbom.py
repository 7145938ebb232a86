"""`limbeck sbom`: a bill of materials of what runs a model."""

import json
from pathlib import Path
from typing import Annotated, TextIO, cast

import typer

from limbeck.cli.app import app, reported
from limbeck.cli.output import written_when_complete


@app.command(
    epilog="Examples: `limbeck sbom` · `limbeck sbom runs/reviews/models/best -o model.cdx.json` · "
    "`limbeck sbom --extra serve --hashes requirements/base.txt`"
)
@reported
def sbom(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="The folder of an exported model, to have its files in it.")
    ] = None,
    extra: Annotated[
        list[str] | None,
        typer.Option("--extra", metavar="NAME", help="Also what this extra of Limbeck needs. Can be repeated."),
    ] = None,
    hashes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Requirements with hashes (requirements/base.txt): those of what is here."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write it. Default: standard output.")
    ] = None,
) -> None:
    """Write a bill of materials (SBOM), in CycloneDX 1.6 JSON: the installed packages that run a model, their licences.

    It is written from the metadata of what is installed here, without a network.
    """
    from limbeck.sbom.cyclonedx import bill_of_materials
    from limbeck.sbom.pins import read_pins

    pins = read_pins(hashes) if hashes is not None else None
    bill = bill_of_materials(model=model, extras=extra or (), pins=pins)
    with written_when_complete(out) as sink:
        cast("TextIO", sink).write(json.dumps(bill, indent=2, ensure_ascii=False) + "\n")
