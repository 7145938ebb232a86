"""User-defined functions that a recipe names as `package.module:function`: importing them, and finding their files.

A recipe may come from somebody else, and naming a function is enough to run code. So none is imported before the user
has allowed it.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from sysconfig import get_paths
from traceback import extract_tb
from typing import Any

from limbeck.errors import LimbeckError

PACKAGE = Path(__file__).resolve().parents[1]
STANDARD, *INSTALLED = (Path(get_paths()[name]).resolve() for name in ("stdlib", "purelib", "platlib"))


ALLOWED = "LIMBECK_ALLOW_CUSTOM_CODE"  # functions that a recipe may call, with commas between them, or ALL
ALL = "all"


class CustomCodeNotAllowed(LimbeckError):
    """A recipe names a function, and the user has not said that it may be called."""

    def __init__(self, *, call: str, place: str) -> None:
        self.call = call
        super().__init__(
            f"the recipe would run code that is not part of Limbeck: {call}",
            found=place,
            advice="Code can do whatever you can. If you trust this recipe and that code, add --allow-custom-code, or "
            f"set {ALLOWED}={call}; from Python: allow_custom_code=True.",
        )


class CustomCodeRefused(LimbeckError):
    """A recipe names a function of Python itself, which could run anything that the recipe's options say."""

    def __init__(self, *, call: str) -> None:
        self.call = call
        super().__init__(
            f"a recipe may not call {call}",
            found="it is part of Python itself, and would do what the recipe's options say",
            advice="Write a function of your own that does what you need, beside the recipe or in a package.",
        )


@contextmanager
def allowing_custom_code(is_allowed: bool) -> Iterator[None]:
    """Inside, also in processes that are started there, a recipe may call any function; without a change if False."""
    before = os.environ.get(ALLOWED)
    if is_allowed:
        os.environ[ALLOWED] = ALL
    try:
        yield
    finally:
        if is_allowed:
            os.environ.pop(ALLOWED)
            os.environ |= {} if before is None else {ALLOWED: before}


def refuse_call(call: str) -> None:
    """Raise unless the function may be called; nothing is imported to find out."""
    module = call.partition(":")[0]
    package = module.partition(".")[0]
    if _is_standard(package):
        raise CustomCodeRefused(call=call)
    allowed = {name.strip() for name in os.environ.get(ALLOWED, "").split(",")}
    if not allowed & {ALL, call}:
        raise CustomCodeNotAllowed(call=call, place=_place_of_package(package))


def _place_of_package(package: str) -> str:
    """Where the code would come from. Only the outermost package is looked up: for others, theirs would be imported."""
    spec = PathFinder.find_spec(package)
    if package == "__main__":
        return "it would come from the program that is running"
    place = (spec.origin or next(iter(spec.submodule_search_locations or []), "")) if spec else ""
    return f"it would come from {place}" if place else f"there is no package '{package}' here"


class CallUnusable(Exception):
    """A function cannot be imported or called; the text says why."""


def resolve_call(call: str) -> Callable[..., Any]:
    """The function that `module:function` names. Raises CallUnusable; and if the user has not allowed it."""
    refuse_call(call)
    module, _, path = call.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # whatever a module does when it is imported
        raise CallUnusable(reported(error)) from error
    if not callable(found):
        raise CallUnusable(f"it is not a function but a {type(found).__name__}")
    if _is_of_python(found):  # such as the `os` that a module of anybody has imported
        raise CustomCodeRefused(call=call)
    function: Callable[..., Any] = found
    return function


def _is_of_python(function: Any) -> bool:
    """Whether it is a function or method of Python itself, by whatever module it was found."""
    while isinstance(function, partial):
        function = function.func
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", function)).__module__
    return _is_standard(str(module).partition(".")[0])


def _is_standard(package: str) -> bool:
    return package in sys.stdlib_module_names and package != "__main__"


def reported(error: Exception) -> str:
    """The first line of an error in a user's code, and the file and line it comes from."""
    first, *_ = f"{type(error).__name__}: {error}".splitlines()
    place = _place_of(error)
    return f"{first.strip()} ({place})" if place else first.strip()


def _place_of(error: Exception) -> str:
    """The innermost line of the user's own code: not of an installed package if there is another one. Empty for a call
    that did not get as far as that, such as one with the wrong arguments."""
    if isinstance(error, SyntaxError):  # it names its file and line itself
        return ""
    frames = [frame for frame in extract_tb(error.__traceback__) if not _is_foreign(frame.filename)]
    own = [frame for frame in frames if not _is_under(frame.filename, INSTALLED)] or frames
    if not own:
        return ""
    path = Path(own[-1].filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    inside = f", in {own[-1].name}" if own[-1].name.isidentifier() else ""
    return f"{shown}, line {own[-1].lineno}{inside}"


def _is_foreign(file: str) -> bool:
    """Whether it is part of Limbeck or of Python, or no file at all (<frozen importlib>)."""
    is_python = _is_under(file, [STANDARD]) and not _is_under(file, INSTALLED)  # packages may be inside of Python's own
    return not Path(file).is_file() or is_python or _is_under(file, [PACKAGE])


def _is_under(file: str, folders: Iterable[Path]) -> bool:
    return any(Path(file).resolve().is_relative_to(folder) for folder in folders)


def refuse_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise CallUnusable if the function does not take these keyword arguments; without a signature, do nothing."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise CallUnusable(f"it does not take these arguments: {error}") from None


def files_of_call(call: str) -> list[Path]:
    """The file of the module, and the file that defines the function if it is another one; empty for built-ins."""
    function = resolve_call(call)
    files = [getattr(import_module(call.partition(":")[0]), "__file__", None)]
    with suppress(TypeError):  # a callable object, or a built-in function
        files.append(inspect.getsourcefile(inspect.unwrap(function)))
    found = [Path(file).resolve() for file in files if file and Path(file).is_file()]
    return list(dict.fromkeys(found))
