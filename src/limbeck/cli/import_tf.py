"""`limbeck import-tf`: a TensorFlow BERT checkpoint as a Hugging Face folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from limbeck.cli.app import app, reported, starting
from limbeck.progress import plain_console

if TYPE_CHECKING:
    pass  # loads numpy


@app.command(
    epilog="Examples: `limbeck import-tf chinese_L-12_H-768_A-12 bert-zh` · "
    "`limbeck import-tf sst2/model.ckpt-6000 sst2-teacher --labels negative,positive`"
)
@reported
def import_tf(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CKPT", help="Prefix of the checkpoint's files, one of them, or their folder.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write; it must not exist, or be empty.")],
    labels: Annotated[
        str | None, typer.Option(help="Names of the classes in the order of output_weights: negative,positive")
    ] = None,
    lowercase: Annotated[
        bool | None, typer.Option("--lowercase/--no-lowercase", help="Lowercase texts. Default: as in its files.")
    ] = None,
) -> None:
    """Convert a TensorFlow BERT checkpoint, raw or fine-tuned, to a Hugging Face folder that can be the teacher."""
    names = None if labels is None else [name.strip() for name in labels.split(",")]
    with starting():
        from limbeck.teacher.import_tf import import_tf as import_checkpoint

        imported = import_checkpoint(checkpoint, out, labels=names, lowercase=lowercase)
    console = plain_console(soft_wrap=True)
    console.print(Text.assemble("Wrote ", (str(out), "bold"), f": {imported.summary}"))
    for note in imported.notes:
        console.print(f"  {note}")
