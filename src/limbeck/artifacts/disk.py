"""Telling a disk that is full or closed to us, which a user can mend, from a bug."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limbeck.errors import DiskFull, LimbeckError, PathUnusable

FULL = {errno.ENOSPC, errno.EDQUOT}
# safetensors and tokenizers raise their own errors with the system's words in them, numpy one without any number.
SAYS_FULL = re.compile(
    r"no space left on device|quota exceeded|\(os error (28|122)\)|\d+ requested and \d+ written", re.I
)
REFUSED = {
    errno.EACCES,
    errno.EEXIST,  # a file stands where a folder is needed
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
    """Turn what the system refuses inside the block into DiskFull or PathUnusable; all else passes as it is.

    `place` is named where the system does not say which file it was.
    """
    try:
        yield
    except LimbeckError:
        raise
    except Exception as error:
        # Of a copy or a rename the second name is the one that is written.
        path = str(getattr(error, "filename2", None) or getattr(error, "filename", None) or place)
        if is_full(error):
            raise DiskFull(path=path) from error
        if isinstance(error, OSError) and error.errno in REFUSED:
            raise PathUnusable(path=path, reason=str(error.strerror).lower(), advice=advice) from error
        raise


def is_full(error: BaseException) -> bool:
    """Whether an error, or one that it came from, says that the disk is full."""
    here: BaseException | None = error
    while here is not None:
        if (isinstance(here, OSError) and here.errno in FULL) or SAYS_FULL.search(str(here)):
            return True
        here = here.__cause__ or here.__context__
    return False


def refuse_place(path: Path) -> None:
    """Say what is wrong with the name of a file to write, before any work is done for it."""
    if path.is_dir():
        raise PathUnusable(path=str(path), reason="it is a folder", advice="Give the name of a file.")
    if not path.parent.is_dir():
        advice = "Correct the path, or make the folder first."
        raise PathUnusable(path=str(path), reason=f"there is no folder '{path.parent}'", advice=advice)
