"""The class that every user-facing error is a kind of, and how names are written in messages."""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any


def did_you_mean(found: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)` when one of the known names is close to what was found, else nothing."""
    close = get_close_matches(found, [str(name) for name in known], n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def some(names: Sequence[object], *, most: int = 3) -> str:
    """The first few names and how many more there are, for a message of one line."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} … and {len(names) - most:,} more"


def in_shell(name: object) -> str:
    """A path or a name as it is written in a command: quoted if it has spaces or other special characters."""
    return shlex.quote(str(name))


class LimbeckError(Exception):
    """Something the user can put right: what is wrong, what was found, what to do next.

    The message has these three parts in this order; the lines of what was found are indented.
    """

    def __init__(self, what: str, *, found: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.what, self.found, self.advice = what, found, advice

    def __str__(self) -> str:
        """The whole message, as the command line prints it."""
        found = [f"  {line}" for line in self.found.splitlines()]
        return "\n".join(part for part in (self.what, *found, self.advice) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: its facts are already in its attributes, so it is rebuilt without calling `__init__` again."""
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[LimbeckError], args: tuple[Any, ...]) -> LimbeckError:
    return kind.__new__(kind, *args)
