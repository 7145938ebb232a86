"""A lock of a file that ends with the process, however it ends: flock, or on Windows the lock of a byte."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileIsLocked(Exception):
    """Another process, or another place in this one, holds it."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file, which is made if there is none; it stays there. Raises FileIsLocked at once."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        lock(handle, path)
        yield
    finally:
        os.close(handle)


def lock(handle: int, path: Path) -> None:
    """Lock an open file until it is closed. Raises FileIsLocked at once."""
    try:
        _lock(handle)
    except (BlockingIOError, PermissionError):  # Windows has the second for it
        raise FileIsLocked(str(path)) from None


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # the first byte, which need not exist
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
