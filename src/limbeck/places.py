"""Where a file may be written."""

from pathlib import Path

from limbeck.errors import PathUnusable


def refuse_place(path: Path) -> None:
    """Say what is wrong with the name of a file to write, before any work is done for it."""
    if path.is_dir():
        raise PathUnusable(path=str(path), reason="it is a folder", advice="Give the name of a file.")
    if not path.parent.is_dir():
        advice = "Correct the path, or make the folder first."
        raise PathUnusable(path=str(path), reason=f"there is no folder '{path.parent}'", advice=advice)
