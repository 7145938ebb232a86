"""What every command shares: the table of commands, how mistakes are told, what is missing, the start."""

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
SERVING = ("fastapi", "httptools", "prometheus_client", "uvicorn")
OTHERS = {"jieba": "zh", "tensorflow": "tf", "tensorboard": "track", "HanTa": "augment"}
EXTRA_OF = {**dict.fromkeys(TRAINING, "train"), **dict.fromkeys(SERVING, "serve"), **OTHERS}
GO_ON = {"run", "demo"}  # commands that can be stopped and go on from there

ENGINE = "What runs the model: native code, onnxruntime, or (auto) the quicker one that can."
TransferOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--transfer",
        metavar="FILE",
        help="Unlabelled text of the same kind, from which the student learns too; may be given several times.",
    ),
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
    except KeyboardInterrupt:  # before the command itself began
        sys.exit(130)


def reported(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Print what a user can put right and exit with 2; anything else is a bug and keeps its traceback."""

    @functools.wraps(command)
    def reported(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        name = command.__name__.replace("_", "-")
        try:
            with disk_errors_as_user_errors(
                Path("the output"), advice="Correct that, then run the same command again."
            ):
                command(*args, **options)
        except LimbeckError as error:
            if isinstance(error, DiskFull):
                _drop_output()
            fail(str(error), code=2)
        except ModuleNotFoundError as error:
            missing = _missing_dependency(error, command=name)
            if missing is None:
                raise
            fail(str(missing), code=2)
        except KeyboardInterrupt:
            kept = ". Everything finished so far is kept; the same command goes on from there" if name in GO_ON else ""
            fail(f"stopped{kept}", code=130)
        except BrokenPipeError:
            _drop_output()  # the reader has gone (`| head`); there is nobody to tell
            raise typer.Exit(0) from None

    return reported


def fail(message: str, *, code: int) -> NoReturn:
    first, _, rest = message.partition("\n")
    console = plain_console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("limbeck:", "bold red"), f" {first}"))
    if rest:
        console.print(rest)
    raise typer.Exit(code)


def _missing_dependency(error: BaseException | None, *, command: str) -> DependencyMissing | None:
    """Which package of which extra an import failed for; transformers tells it only as the cause of its own error."""
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in EXTRA_OF:
            return DependencyMissing(package=package, purpose=f"limbeck {command}", extra=EXTRA_OF[package])
        error = error.__cause__ or error.__context__
    return None


def _drop_output() -> None:
    """Whatever is still to be written goes nowhere: Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):  # not a file of the system, in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def starting() -> AbstractContextManager[object]:
    """Something to look at while PyTorch and transformers are loaded, which takes seconds."""
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


def refuse_taken(path: Path, *, force: bool) -> None:
    """A file that is already there is overwritten only if that was said."""
    refuse_place(path)
    if path.exists() and not force:
        advice = "Give another name, or overwrite it with --force."
        raise PathUnusable(path=str(path), reason="it is already there", advice=advice)
