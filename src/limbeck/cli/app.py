"""What all commands share: the app, error messages, missing packages, startup."""

import functools
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, ParamSpec

import typer
from rich.text import Text

from limbeck import __version__
from limbeck.artifacts.disk import disk_errors_as_user_errors, refuse_place
from limbeck.cores import share_cores
from limbeck.errors import DependencyMissing, DiskFull, LimbeckError, PathUnusable
from limbeck.progress import plain_console

if TYPE_CHECKING:
    pass  # loads numpy

Parameters = ParamSpec("Parameters")
TRAINING = (
    *("accelerate", "datasets", "huggingface_hub", "jinja2", "markupsafe", "matplotlib", "onnx", "pyarrow"),
    *("rensa", "safetensors", "scipy", "sentencepiece", "sklearn", "torch", "transformers"),
)
SERVING = ("anyio", "httptools", "prometheus_client", "starlette", "uvicorn")
OTHERS = {
    "jieba": "zh",
    "tensorflow": "tf",
    "tensorboard": "track",
    "HanTa": "augment",
    "optuna": "search",
    "ray": "ray",
    "httpx2": "llm",
}
EXTRA_OF = {**dict.fromkeys(TRAINING, "train"), **dict.fromkeys(SERVING, "serve"), **OTHERS}
RESUMABLE = {"run", "label", "demo", "search", "pretrain", "review"}  # commands that can be stopped and continued

ENGINE = "What runs the model: native code, onnxruntime, or (auto) the faster one that supports it."
AbstainOption = Annotated[
    bool,
    typer.Option(
        "--abstain/--no-abstain",
        help="Whether a model that was exported to abstain gives no label where it is not sure enough.",
    ),
]
AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-custom-code",
        help='Let the recipe call functions that are not part of Limbeck (kind = "custom").',
    ),
]
TransferOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--transfer",
        metavar="FILE",
        help="Unlabelled text of the same kind, on which the student is also trained. Can be repeated.",
    ),
]
TestOption = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Labelled rows with the same columns, for the report alone. Default: NAME-test.* or test.* beside the "
        "data, if there is one.",
    ),
]
DevOption = Annotated[
    Path | None,
    typer.Option(
        "--dev",
        metavar="FILE",
        help="Labelled rows with the same columns, on which models are chosen. Default: NAME-dev.*, dev.*, valid.* "
        "beside the data, else a tenth of it.",
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", help="Encoding of the data, e.g. latin-1. Default: it is guessed."),
]

app = typer.Typer(
    name="limbeck",
    help="Distil a big fine-tuned text classifier into a small and fast one that runs without PyTorch.",
    epilog="Start with `limbeck demo`, then `limbeck run your.csv`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point of the command."""
    try:
        app()
    except KeyboardInterrupt:  # before the command itself has started
        sys.exit(130)


def reported(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Print errors that a user can fix and exit with 2; anything else is a bug and keeps its traceback."""

    @functools.wraps(command)
    def reported(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        name = command.__name__.replace("_", "-")
        try:
            with disk_errors_as_user_errors(
                Path("the output"), advice="Correct that, then run the same command again."
            ):
                command(*args, **options)
        except (LimbeckError, MemoryError) as error:
            if isinstance(error, DiskFull):
                _drop_output()
            fail(str(error) if isinstance(error, LimbeckError) else "there is not enough memory for this", code=2)
        except ModuleNotFoundError as error:
            missing = _missing_dependency(error, command=name)
            if missing is None:
                raise
            fail(str(missing), code=2)
        except KeyboardInterrupt:
            kept = ". Everything finished so far is kept; the same command continues there" if name in RESUMABLE else ""
            fail(f"stopped{kept}", code=130)
        except BrokenPipeError:
            _drop_output()  # the reader is gone (`| head`)
            raise typer.Exit(0) from None

    return reported


def led_by_first(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """A command that torchrun may start several times: the first process runs it, the others train with it."""

    @functools.wraps(command)
    def led(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        if int(os.environ.get("WORLD_SIZE") or 1) < 2:
            command(*args, **options)
            return
        share_cores()
        from limbeck.training.torchrun import led_by_first

        led_by_first(functools.partial(command, *args, **options))

    return led


def fail(message: str, *, code: int) -> NoReturn:
    first, _, rest = message.partition("\n")
    console = plain_console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("limbeck:", "bold red"), f" {first}"))
    if rest:
        console.print(rest)
    raise typer.Exit(code)


def _missing_dependency(error: BaseException | None, *, command: str) -> DependencyMissing | None:
    """The package, with its extra, that an import failed for; in transformers it is only the cause of another error."""
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in EXTRA_OF:
            return DependencyMissing(package=package, purpose=f"limbeck {command}", extra=EXTRA_OF[package])
        error = error.__cause__ or error.__context__
    return None


def _drop_output() -> None:
    """Discard remaining output: otherwise Python tries to flush it at exit, and complains."""
    with suppress(OSError, ValueError):  # in tests, stdout is not a real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def starting() -> AbstractContextManager[object]:
    """Shows a status while PyTorch and transformers are loaded, which takes seconds."""
    share_cores()
    return plain_console(stderr=True).status("starting")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"limbeck {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def refuse_taken(path: Path, *, force: bool, has_force: bool = True) -> None:
    """Refuse to overwrite an existing file unless `force` is given; `has_force`: whether the command has such an
    option."""
    refuse_place(path)
    if path.exists() and not force:
        advice = f"Give another name, or {'overwrite it with --force' if has_force else 'remove it'}."
        raise PathUnusable(path=str(path), reason="it already exists", advice=advice)
