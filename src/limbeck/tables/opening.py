"""Opening a file as bytes or as lines of text, gzipped or not; what is wrong with it is said with its row."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from limbeck.errors import BytesUndecodable, FileMissing, FileUnreadable
from limbeck.tables.raw_table import Watch, unwatched

GZIP_MAGIC = b"\x1f\x8b"
PIECE = 1 << 20


class _Watched(io.RawIOBase):
    """A file that tells how much of it has been read."""

    def __init__(self, raw: io.FileIO, watch: Watch) -> None:
        self._raw, self._watch = raw, watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._raw.readinto(buffer) or 0
        self._watch(count)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


@contextmanager
def opened(path: Path, *, watch: Watch = unwatched) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked if it starts as gzip does, whatever its name."""
    try:
        raw = io.FileIO(str(path))
    except FileNotFoundError:
        beside = [inner.name for inner in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileMissing(path=path.name, looked_in=[path.parent.resolve()], beside=beside) from None
    except OSError as error:  # a folder, or a file that this user may not read
        advice = "Give a file of rows that you may read."
        reason = str(error.strerror or error)
        raise FileUnreadable(path=path, kind="rows", reason=reason, advice=advice) from None
    with io.BufferedReader(_Watched(raw, watch), PIECE) as plain:
        if plain.peek(2)[:2] != GZIP_MAGIC:
            yield plain
            return
        try:
            with gzip.GzipFile(fileobj=plain) as unpacked:
                yield cast(BinaryIO, unpacked)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            advice = "Pack the file again, or fetch it again from where it is whole."
            reason = f"{error}; the file may be cut off"
            raise FileUnreadable(path=path, kind="gzip", reason=reason, advice=advice) from None


def text_lines(path: Path, *, encoding: str, newline: str, watch: Watch = unwatched) -> Iterator[str]:
    r"""The lines with their ends, without a byte order mark. `newline` as in `open`: "\n" or "" (\r ends lines too)."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        advice = 'Correct `encoding`, e.g. "utf-8", "utf-16", "latin-1" or "gb18030".'
        reason = "no encoding has that name"
        raise FileUnreadable(path=path, kind=f"{encoding} text", reason=reason, advice=advice) from None
    with opened(path, watch=watch) as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, newline=newline)
        try:
            if first := text.readline().removeprefix("\ufeff"):
                yield first
            yield from text
        except UnicodeError:
            raise _undecodable(path, encoding=encoding) from None


def _undecodable(path: Path, *, encoding: str) -> BytesUndecodable:
    """Read again from the start, to say in which line the bytes stand and which they are."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with opened(path) as stream:
        while True:
            piece = stream.read(PIECE)
            state = decoder.getstate()
            try:
                line += decoder.decode(piece, final=not piece).count("\n")
            except UnicodeError:
                decoder.setstate(state)
                lines, found = _first_bad_bytes(decoder, piece)
                return BytesUndecodable(path=path, row=line + lines, encoding=encoding, found=found)
            if not piece:  # cannot happen: the same bytes have failed before
                return BytesUndecodable(path=path, row=line, encoding=encoding, found=b"")


def _first_bad_bytes(decoder: codecs.IncrementalDecoder, piece: bytes) -> tuple[int, bytes]:
    """Lines before the first byte that does not decode, and the bytes around it."""
    lines = 0
    for place in range(len(piece)):
        try:
            lines += decoder.decode(piece[place : place + 1]).count("\n")
        except UnicodeDecodeError as error:
            return lines, error.object[error.start : error.end] or error.object[-1:]
        except UnicodeError:  # UTF-16 without a byte order mark says no more than this
            return lines, piece[: place + 1][-4:]
    return lines, decoder.getstate()[0]  # the file ends within a character
