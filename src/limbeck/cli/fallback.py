"""The options about a fallback, the same for every command that answers texts."""

from typing import Annotated, Literal

import typer

FORMATS = Literal["auto", "limbeck", "tei", "hf", "vllm", "kserve", "openai"]

FallbackOption = Annotated[
    str | None,
    typer.Option(
        "--fallback",
        metavar="FOLDER|URL",
        help="Another model, which answers the texts that this one is not sure of: the folder of a model, or the "
        "address of a server.",
    ),
]
ShareOption = Annotated[
    float | None,
    typer.Option(
        "--share",
        min=0,
        max=1,
        help="Share of the texts for the fallback, by the confidences on dev. Default: as many as were needed on dev "
        "to be as accurate as the teacher.",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option("--threshold", min=0, max=1, help="Instead of --share: the confidence up to which it is asked."),
]
FallbackFormatOption = Annotated[
    FORMATS, typer.Option("--fallback-format", help="What its server speaks; auto asks it before it is needed.")
]
FallbackModelOption = Annotated[
    str | None, typer.Option("--fallback-model", help="Name of the model that its server is to use.")
]
FallbackTimeoutOption = Annotated[
    float | None,
    typer.Option("--fallback-timeout", min=0.001, help="Seconds that an answer may take. Default: 10 for a server."),
]
FallbackKeyOption = Annotated[
    str | None,
    typer.Option("--fallback-key-from", metavar="VARIABLE", help="Environment variable with the key of its server."),
]
FallbackInstructionOption = Annotated[
    str | None,
    typer.Option("--fallback-instruction", help="For a language model: what to do, in front of the labels."),
]


def refuse_fallback_options(fallback: str | None, *, share: float | None, threshold: float | None) -> None:
    """Raise for --share or --threshold without --fallback, and for both of them."""
    if share is None and threshold is None:
        return
    from limbeck.runtime.fallbacks.fallback import FallbackMissing
    from limbeck.runtime.thresholds import refuse_numbers

    refuse_numbers(share=share, threshold=threshold)
    if fallback is None:
        raise FallbackMissing(option="share" if threshold is None else "threshold")
