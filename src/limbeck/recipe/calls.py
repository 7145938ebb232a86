"""User-defined functions that a recipe names as `package.module:function`: importing them, and finding their files."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any


class CallUnusable(Exception):
    """A function cannot be imported or called; the text says why."""


def resolve_call(call: str) -> Callable[..., Any]:
    """The function that `module:function` names. Raises CallUnusable."""
    module, _, path = call.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # whatever a module does when it is imported
        raise CallUnusable(f"{type(error).__name__}: {error}") from error
    if not callable(found):
        raise CallUnusable(f"it is not a function but a {type(found).__name__}")
    function: Callable[..., Any] = found
    return function


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
