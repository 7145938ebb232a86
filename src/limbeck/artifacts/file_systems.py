"""Folders on the file systems that pyarrow knows (s3://, gs://, abfs://, hdfs://), for what many machines share."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from limbeck.errors import DependencyMissing, PathUnusable

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.I)
OBJECT_STORES = ("s3", "gcs", "abfs")  # an object is there when all of it is; there are no folders to make
PARTIAL = ".partial"
KINDS = "s3://, gs://, abfs://, hdfs://, file://"


def is_address(place: str | Path) -> bool:
    """Whether it is an address of a file system, and not a path of this machine."""
    return isinstance(place, str) and ADDRESS.match(place) is not None


def without_keys(place: str | Path) -> str:
    """An address as it may be shown and kept: without keys before the host, and without options; a path as it is."""
    if not is_address(place):
        return str(place)
    kind, _, rest = str(place).partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{kind}://{host.rpartition('@')[2]}{slash}{path}"


def is_partial(name: str) -> bool:
    """Whether it is the name of a file that is being written, or that a killed process has left."""
    return name.endswith(PARTIAL)


@dataclass(frozen=True)
class RemoteFolder:
    """A folder by its address. Options of pyarrow's file system may follow a "?", such as `endpoint_override` of S3."""

    address: str

    def inner(self, name: str) -> "RemoteFolder":
        """A folder in it."""
        head, mark, options = self.address.partition("?")
        return RemoteFolder(f"{head.rstrip('/')}/{name}{mark}{options}")

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        try:
            from pyarrow.fs import FileSystem
        except ImportError:
            raise DependencyMissing(package="pyarrow", purpose="other file systems", extra="train") from None
        try:
            system, path = FileSystem.from_uri(self.address)
        except (ValueError, OSError, NotImplementedError) as error:
            advice = f"Give an address that pyarrow opens: {KINDS}."
            raise _unusable(self.address, error, advice=advice) from None
        return system, path.rstrip("/")

    @property
    def system(self) -> Any:
        """pyarrow's file system."""
        return self._opened[0]

    @property
    def path(self) -> str:
        """The folder, as its file system names it."""
        return self._opened[1]

    def files(self, *, deep: bool = False) -> dict[str, int]:
        """Bytes of every file by its name, in order; nothing if there is no such folder. `deep`: in inner folders."""
        from pyarrow.fs import FileSelector, FileType

        with remote_errors(self.address):
            selector = FileSelector(self.path, allow_not_found=True, recursive=deep)
            found = [info for info in self.system.get_file_info(selector) if info.type == FileType.File]
        return {info.path[len(self.path) + 1 :]: info.size for info in sorted(found, key=lambda one: one.path)}

    def size_of(self, name: str) -> int | None:
        """Bytes of a file; None if there is none."""
        from pyarrow.fs import FileType

        with remote_errors(self.address):
            info = self.system.get_file_info(f"{self.path}/{name}")
        return info.size if info.type == FileType.File else None

    def modified(self, names: Sequence[str]) -> list[int]:
        """When each of these files was changed, in nanoseconds since 1970."""
        with remote_errors(self.address):
            found = self.system.get_file_info([f"{self.path}/{name}" for name in names])
        return [int(info.mtime_ns or 0) for info in found]

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError."""
        with remote_errors(self.address), self.system.open_input_file(f"{self.path}/{name}") as file:
            content: bytes = file.read()
            return content

    @contextmanager
    def opened(self, name: str) -> Iterator[io.BufferedReader]:
        """A file for reading, from any place in it."""
        with remote_errors(self.address), self.system.open_input_file(f"{self.path}/{name}") as file:
            yield io.BufferedReader(_Raw(file, f"{self.path}/{name}"), 1 << 20)

    def write(self, name: str, content: Any) -> None:
        """Write a file that exists completely or not at all."""
        if self.system.type_name not in OBJECT_STORES:
            with self.writing(name) as file:
                file.write(content)
            return
        with remote_errors(self.address), self.system.open_output_stream(f"{self.path}/{name}") as file:
            file.write(content)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A file to write, which gets its name when the block ends without an error."""
        path = f"{self.path}/{name}"
        scratch = f"{path}.{uuid4().hex}{PARTIAL}"
        with remote_errors(self.address):
            if self.system.type_name not in OBJECT_STORES:
                self.system.create_dir(path.rpartition("/")[0], recursive=True)
            # An object appears when it is closed, also if what writes it has failed: so it gets its name afterwards.
            file = self.system.open_output_stream(scratch)
            try:
                yield file
                file.close()
            except BaseException:
                _discard(self.system, file, scratch)
                raise
            self.system.move(scratch, path)

    def fetch(self, name: str, to: Path) -> None:
        """Copy a file to this machine, where it appears when it is complete. Raises FileNotFoundError."""
        to.parent.mkdir(parents=True, exist_ok=True)
        scratch = to.with_name(f"{to.name}.{uuid4().hex}.partial")
        try:
            with (
                remote_errors(self.address),
                self.system.open_input_stream(f"{self.path}/{name}") as file,
            ):
                _copy(file, scratch)
            scratch.replace(to)
        finally:
            scratch.unlink(missing_ok=True)

    def send(self, path: Path, name: str) -> None:
        """Copy a file of this machine there."""
        with path.open("rb") as file, self.writing(name) as remote:
            while piece := file.read(1 << 24):
                remote.write(piece)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with remote_errors(self.address):
            if self.size_of(name) is not None:
                self.system.delete_file(f"{self.path}/{name}")


def _copy(file: Any, scratch: Path) -> None:
    with scratch.open("wb") as local:
        while piece := file.read(1 << 24):
            local.write(piece)


def _discard(system: Any, file: Any, scratch: str) -> None:
    try:
        file.close()
        system.delete_file(scratch)
    except Exception:  # the error that led here is the one to report
        pass


class _Raw(io.RawIOBase):
    """pyarrow's file as a raw stream of Python's."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self.name = file, name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def remote_errors(address: str) -> Iterator[None]:
    """Turns what a file system raises for an address that cannot be used into PathUnusable."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        advice = "Correct the address, or the rights and the environment variables of its file system."
        raise _unusable(address, error, advice=advice) from error


def _unusable(address: str, error: BaseException, *, advice: str) -> PathUnusable:
    shown = without_keys(address)
    return PathUnusable(path=shown, reason=_first_line(error).replace(address, shown), advice=advice)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
