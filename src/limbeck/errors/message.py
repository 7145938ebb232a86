"""How a message is put together, and the class that every user-facing error is a kind of."""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches


def did_you_mean(found: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)` when one of the known names is close to what was found, else nothing."""
    close = get_close_matches(found, [str(name) for name in known], n=1, cutoff=0.6)
    return f" (did you mean '{close[0]}'?)" if close else ""


def some(names: Sequence[object], *, most: int = 3) -> str:
    """The first few names and how many more there are, for a message of one line."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} … and {len(names) - most:,} more"


def in_shell(name: object) -> str:
    """A path or a name as one writes it in a command: in quotes where it has spaces, or other signs of the shell."""
    return shlex.quote(str(name))


class LimbeckError(Exception):
    """Something the user can put right."""
