"""Turns disk errors that a user can fix (disk full, no permission) into user errors; other errors are bugs."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limbeck.errors import DiskFull, LimbeckError, PathUnusable

FULL = {errno.ENOSPC, errno.EDQUOT}
# safetensors and tokenizers raise their own errors with the system's message inside, numpy one without an errno.
FULL_MESSAGE = re.compile(
    r"no space left on device|quota exceeded|\(os error (28|122)\)|\d+ requested and \d+ written", re.I
)
REFUSED = {
    errno.EACCES,
    errno.EEXIST,  # there is a file where a folder is needed
    errno.EFBIG,
    errno.EIO,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}


@contextmanager
def disk_errors_as_user_errors(place: Path, *, advice: str) -> Iterator[None]:
    """Turn errors of the file system inside the block into DiskFull or PathUnusable; others pass unchanged.

    The message names `place` if the system does not say which file it was.
    """
    try:
        yield
    except LimbeckError:
        raise
    except Exception as error:
        # For a copy or a rename, the second name is the one that is written.
        path = str(getattr(error, "filename2", None) or getattr(error, "filename", None) or place)
        if is_full(error):
            raise DiskFull(path=path) from error
        if isinstance(error, OSError) and error.errno in REFUSED:
            raise PathUnusable(path=path, reason=str(error.strerror).lower(), advice=advice) from error
        raise


def is_full(error: BaseException) -> bool:
    """Whether an error, or one of its causes, says that the disk is full."""
    current: BaseException | None = error
    while current is not None:
        if (isinstance(current, OSError) and current.errno in FULL) or FULL_MESSAGE.search(str(current)):
            return True
        current = current.__cause__ or current.__context__
    return False


def refuse_place(path: Path) -> None:
    """Raise PathUnusable if a file cannot be written there, before anything is computed for it."""
    if path.is_dir():
        raise PathUnusable(path=str(path), reason="it is a folder", advice="Give the name of a file.")
    if not path.parent.is_dir():
        advice = "Correct the path, or make the folder first."
        raise PathUnusable(path=str(path), reason=f"there is no folder '{path.parent}'", advice=advice)
