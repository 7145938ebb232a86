"""Values and remarks as they are written into a drafted recipe."""

import json


def value(given: object) -> str:
    """A text, number, truth value or list of these as TOML has it."""
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def line(key: str, given: object, remark: str = "") -> str:
    """A key with its value, and a remark behind it."""
    return f"{key} = {value(given)}" + (f"  # {remark}" if remark else "")


def plain(text: str) -> str:
    """Fit for a comment: one line, no control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
