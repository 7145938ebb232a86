"""A run on a disk that has no locks is refused with a reason; two machines could otherwise write it at a time."""

import errno
from pathlib import Path

import pytest

from limbeck.artifacts import file_lock
from limbeck.artifacts.run_folder import open_run
from limbeck.errors import PathUnusable
from limbeck.progress import SilentReporter


def test_a_file_system_without_locks_is_refused_and_another_error_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        def lock(handle: int, path: Path) -> None:
            del handle, path
            raise OSError(number, "no locks available")

        monkeypatch.setattr(file_lock, "lock", lock)

    refuse(errno.ENOLCK)
    with pytest.raises(PathUnusable, match="has no locks"), open_run(tmp_path, reporter=SilentReporter(), facts={}):
        pass
    refuse(errno.EIO)
    with pytest.raises(OSError, match="no locks available"), open_run(tmp_path, reporter=SilentReporter(), facts={}):
        pass
