"""Values and remarks as they are written into a drafted recipe."""

import json
from pathlib import Path


def value(given: object) -> str:
    """A text, number, truth value or list of these as TOML has it."""
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def line(key: str, given: object, remark: str = "") -> str:
    """A key with its value, and a remark behind it."""
    return f"{key} = {value(given)}" + (f"  # {remark}" if remark else "")


def place(path: Path) -> str:
    """The absolute path of a file under the name that it was given by.

    What a link points to may have another ending, or none, and lie apart from dev and test.
    """
    return str(path.parent.resolve() / path.name)


def plain(text: str) -> str:
    """Fit for a comment: one line, no control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
