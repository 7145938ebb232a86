"""Names and texts from outside as Markdown: they break no table, and become neither markup nor links."""

import re
from collections.abc import Mapping
from typing import Any

from limbeck.progress import visible

# As entities, which mean the character in text; a backslash would be escaped again in a table.
ENTITIES = {ord(sign): f"&#{ord(sign)};" for sign in "\\`|[]"} | {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
LINK = re.compile(r"(?i)(www(?=\.)|\b(?:https?|ftp|mailto|xmpp)(?=:))(.)")  # GitHub makes links of these


def markdown(text: str) -> str:
    """The text on one line, for a sentence or a cell."""
    return LINK.sub(lambda found: f"{found[1]}&#{ord(found[2])};", _one_line(text).translate(ENTITIES))


def code(text: str) -> str:
    """The text as code in a sentence, where entities mean nothing and only more backticks end it."""
    line = _one_line(text)
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence, gap = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{gap}{line}{gap}{fence}"


def _one_line(text: str) -> str:
    return visible(text.replace("\n", " ").replace("\t", " "))


def as_markdown(data: Any) -> Any:
    """All texts in a report, also the names of its keys, for sentences and tables that are made from them."""
    if isinstance(data, str):
        return markdown(data)
    if isinstance(data, Mapping):
        return {markdown(key): as_markdown(value) for key, value in data.items()}
    return [as_markdown(value) for value in data] if isinstance(data, list | tuple) else data
