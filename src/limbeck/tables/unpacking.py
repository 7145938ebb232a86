"""Unpacks gzip, and refuses a small file that unpacks to gigabytes before these fill memory or disk."""

import gzip
import io
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from limbeck.errors import FileUnreadable

# Text packs to a third or a tenth of its size, logs to a fiftieth; what is larger than both of these was made to be.
# A row of a few bytes takes a hundred in memory: of packed text, fewer bytes are read.
MOST_UNPACKED, MOST_UNPACKED_TEXT, MOST_TIMES = 1 << 28, 1 << 23, 100


class Unpacked(io.RawIOBase):
    """The bytes of a packed file; faults are reported as FileUnreadable, as soon as they are reached."""

    def __init__(self, file: BinaryIO, *, path: Path) -> None:
        self._packed, self._path = _Counted(file), path
        self._file = gzip.GzipFile(fileobj=cast(BinaryIO, self._packed))
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            piece = self._file.read1(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            advice = "Pack the file again, or fetch an intact copy."
            reason = f"{error}; the file may be cut off"
            raise FileUnreadable(path=self._path, kind="gzip", reason=reason, advice=advice) from None
        self._bytes += len(piece)
        if is_bomb(self._bytes, packed=self._packed.bytes, most=MOST_UNPACKED_TEXT):
            packed, most = self._packed.bytes, MOST_UNPACKED_TEXT
            raise unpacks_to_too_much(self._path, packed=packed, kind="gzip", most=most)
        buffer[: len(piece)] = piece
        return len(piece)

    def fileno(self) -> int:
        return self._packed.fileno()

    def close(self) -> None:
        self._file.close()
        super().close()


class _Counted:
    """A file that counts what is read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.bytes = file, 0

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or fewer at the end."""
        piece = self._file.read(size)
        self.bytes += len(piece)
        return piece

    def fileno(self) -> int:
        """Of the file itself."""
        return self._file.fileno()


def is_bomb(unpacked: int, *, packed: int, most: int = MOST_UNPACKED) -> bool:
    """Whether so much comes out of so little that nobody would pack rows like that."""
    return unpacked > most and unpacked > MOST_TIMES * packed


def unpacks_to_too_much(path: Path, *, packed: int, kind: str, most: int = MOST_UNPACKED) -> FileUnreadable:
    """The error for such a file."""
    reason = f"{packed:,} bytes of it unpack to more than {max(most, MOST_TIMES * packed):,}"
    advice = "Unpack it yourself if you trust it, and give the rows as a plain file."
    return FileUnreadable(path=path, kind=kind, reason=reason, advice=advice)
