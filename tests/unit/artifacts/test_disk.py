"""A disk that is full or closed is distinguished from a bug, whoever raised the error."""

import errno
import os
from pathlib import Path

import pytest
from safetensors import SafetensorError

from limbeck.artifacts.disk import disk_errors_as_user_errors
from limbeck.errors import DiskFull, FileEmpty, LimbeckError, PathUnusable


def translated(error: Exception) -> Exception:
    """What becomes of an error."""
    try:
        with disk_errors_as_user_errors(Path("run"), advice="Do something."):
            raise error
    except Exception as result:
        return result


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        OSError("540 requested and 12 written"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        Exception("No space left on device (os error 28)"),
        RuntimeError("Disk quota exceeded (os error 122)"),
    ],
)
def test_a_full_disk_is_known_by_number_and_by_words(error: Exception) -> None:
    result = translated(error)

    assert isinstance(result, DiskFull)
    assert "while writing 'run'" in str(result)
    assert result.__cause__ is error


def test_a_full_disk_is_known_through_the_error_it_led_to() -> None:
    error = RuntimeError("cannot save")
    error.__cause__ = OSError(errno.ENOSPC, "full")

    assert isinstance(translated(error), DiskFull)


def test_the_file_is_named_and_of_two_the_one_that_is_written() -> None:
    assert "'a'" in str(translated(OSError(errno.ENOSPC, "full", "a")))
    assert "'b'" in str(translated(OSError(errno.ENOSPC, "full", "a", None, "b")))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EIO])
def test_what_the_system_refuses_is_reported_in_its_words(number: int) -> None:
    result = translated(OSError(number, os.strerror(number), "a/b"))

    assert isinstance(result, PathUnusable)
    assert str(result) == f"cannot use 'a/b': {os.strerror(number).lower()}\nDo something."


@pytest.mark.parametrize("error", [ValueError("28"), FileNotFoundError(errno.ENOENT, "gone", "x"), KeyError("x")])
def test_a_bug_stays_a_bug(error: Exception) -> None:
    assert translated(error) is error


def test_what_a_user_can_mend_already_is_left_as_it_is() -> None:
    error = FileEmpty(path=Path("No space left on device"))

    assert isinstance(error, LimbeckError)
    assert translated(error) is error
