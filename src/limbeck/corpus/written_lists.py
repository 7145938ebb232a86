"""Lists that stand as text in a cell, as csv and tsv have no other way to hold them: ["food", "price"]."""

import ast
import json
import warnings
from functools import lru_cache

Items = tuple[object, ...]
LONGEST_WRITTEN = 10_000  # characters; what is longer is a text


@lru_cache(maxsize=4096)  # the same few sets of labels come again and again
def written_list(cell: str) -> Items | None:
    """The items of a JSON list, or of a list as Python prints it; None if the cell is no such list."""
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")) or len(text) > LONGEST_WRITTEN:
        return None
    try:
        return tuple(json.loads(text))
    except (ValueError, RecursionError):
        return _printed_by_python(text)


def _printed_by_python(text: str) -> Items | None:
    """Only what Python prints the same: ['a' 'b'], as numpy prints it, would read as one item."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a backslash that escapes nothing
            items = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(items, list) or "".join(repr(items).split()) != "".join(text.split()):
        return None
    return tuple(items)
