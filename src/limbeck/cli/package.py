"""`limbeck package`: a model as a folder that answers in browsers and in Node."""

from pathlib import Path
from typing import Annotated

import typer

from limbeck.cli.app import app, reported


@app.command(
    epilog="Examples: `limbeck package runs/reviews/models/best --out site` · "
    "`python -m http.server --directory site` · `node site/check.mjs`"
)
@reported
def package(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of an exported model.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where to write it: a new folder, or an earlier package."),
    ],
    onnxruntime_web: Annotated[
        Path | None,
        typer.Option(
            "--onnxruntime-web",
            metavar="PATH",
            help="The archive or folder of the npm package, where there is no npm. Default: npm gets it once; it is "
            "kept in ~/.cache/limbeck.",
        ),
    ] = None,
) -> None:
    """Write a static folder that answers in the browser, with WebAssembly: model, tokenizer, module and page.

    It needs no server but one of files, no network, and no other site. The same folder is a package for Node. If Node
    is installed here, the folder is checked against the answers of Python before it is written.
    """
    from limbeck.packaging.site import package as packaged

    written = packaged(model, out=out, runtime=onnxruntime_web)
    typer.echo(
        f"{written.folder}: model {written.model_mb:.2f} MB, runtime {written.runtime_mb:.1f} MB, "
        f"vectors {written.vectors_mb:.1f} MB (they are not loaded by the page)"
    )
    if written.checked is None:
        typer.echo("not checked: there is no Node.js 20 here. Check it elsewhere with: node check.mjs")
    else:
        typer.echo(f"checked in Node, {written.checked.sentence}")
    typer.echo(f"to see it: python -m http.server --directory {written.folder}")
