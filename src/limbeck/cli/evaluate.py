"""`limbeck evaluate`: a finished model on a labelled file."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from limbeck.cli.app import app, reported
from limbeck.cli.fallback import (
    FallbackFormatOption,
    FallbackInstructionOption,
    FallbackKeyOption,
    FallbackModelOption,
    FallbackOption,
    FallbackTimeoutOption,
    ShareOption,
    ThresholdOption,
    refuse_fallback_options,
)
from limbeck.cli.output import written_when_complete
from limbeck.errors import PathUnusable

if TYPE_CHECKING:
    from typing import TextIO


@app.command(
    epilog="Examples: `limbeck evaluate runs/sst2/models/best test.csv` · "
    "`limbeck evaluate MODEL test.tsv --text review --label stars --label-name 1=negative --label-name 5=positive` · "
    "`limbeck evaluate runs/sst2/models/bilstm-int8 test.csv --against runs/sst2/models/bilstm --errors wrong.csv`"
)
@reported
def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    file: Annotated[Path, typer.Argument(help="Labelled rows: csv, tsv, json or parquet, also .gz.")],
    text: Annotated[
        str | None, typer.Option(help="Column of the text. Default: `text`, the one in training, or the only one left.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="Column of the second text, for models of pairs.")] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column of the label. Default: the one in training, `label`, or the one with the classes."),
    ] = None,
    label_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=CLASS",
            help="The class that a label of the file means: 0=negative. Can be repeated. Default: as in training.",
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Another model, to compare with on the same rows.")
    ] = None,
    errors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all wrong answers to this csv file, also .csv.gz.")
    ] = None,
    out_of_scope: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Label of rows that belong to no class: they are not judged. Default: as in training."
        ),
    ] = None,
    slice: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column whose values part the rows, such as their source. Default: corpus.slice."
        ),
    ] = None,
    format: Annotated[
        Literal["auto", "csv", "tsv", "jsonl", "parquet"],
        typer.Option(help="Format of the file; auto depends on the name, otherwise on the first lines."),
    ] = "auto",
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns. Default: as in training."),
    ] = None,
    quoting: Annotated[
        bool | None,
        typer.Option(
            "--quoting/--no-quoting", help='Whether " encloses cells of csv and tsv. Default: as in training.'
        ),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the file. Default: as in training, else utf-8.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    fallback: FallbackOption = None,
    share: ShareOption = None,
    threshold: ThresholdOption = None,
    fallback_format: FallbackFormatOption = "auto",
    fallback_model: FallbackModelOption = None,
    fallback_timeout: FallbackTimeoutOption = None,
    fallback_key_from: FallbackKeyOption = None,
    fallback_instruction: FallbackInstructionOption = None,
) -> None:
    """Judge a finished model on a labelled file: accuracy, F1, calibration, every class, the worst errors. No torch.

    Rows whose label the model does not know count as wrong. A model that abstains is judged as if it answered every
    row; what its threshold costs and gains is said beside that. With a fallback both together are judged, and the
    model alone. A model of scores is judged by correlations and errors.
    """
    from limbeck.judging.evaluate import evaluate as judge
    from limbeck.progress import plain_console, rate_line, visible, visible_json
    from limbeck.report.evaluation import print_evaluation
    from limbeck.report.score_evaluation import print_score_evaluation
    from limbeck.runtime.fallbacks.opening import FallbackOptions, cascade_of

    if errors is not None and not errors.name.lower().removesuffix(".gz").endswith(".csv"):
        raise PathUnusable(path=str(errors), reason="--errors writes csv", advice="Give it a name that ends in .csv.")
    refuse_fallback_options(fallback, share=share, threshold=threshold)
    options = FallbackOptions(
        fallback_format, fallback_model, fallback_timeout, fallback_key_from, fallback_instruction
    )
    both = cascade_of(model, fallback, share=share, threshold=threshold, options=options) if fallback else None
    writing = written_when_complete(errors) if errors else nullcontext()
    with writing as sink, rate_line(unit="rows") as watch:
        result = judge(
            both or model,
            file,
            text=text,
            pair=pair,
            label=label,
            label_names=_label_names(label_name or []),
            format=format,
            header=header,
            quoting=quoting,
            encoding=encoding,
            against=against,
            errors=cast("TextIO | None", sink),
            out_of_scope=out_of_scope,
            slice=slice,
            watch=watch,
        ).as_json()
    if as_json:
        typer.echo(visible_json(result))
        return
    if "spearman" in result:
        print_score_evaluation(result, plain_console())
    else:
        print_evaluation(result, plain_console())
    if errors is not None:
        typer.echo(f"All {'rows' if 'spearman' in result else 'wrong answers'}: {visible(str(errors))}")


def _label_names(given: list[str]) -> dict[str, str]:
    names = {}
    for one in given:
        label, sign, name = one.partition("=")
        if not (sign and label.strip() and name.strip()):
            advice = "Give a label of the file and the model's class: --label-name 0=negative"
            raise PathUnusable(path=f"--label-name {one}", reason="it is not LABEL=CLASS", advice=advice)
        names[label.strip()] = name.strip()
    return names
