"""Lines of text out of a file, a pipe or a terminal, one at a time, gzipped or not."""

import codecs
import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, TypeAlias, cast

from limbeck.errors import BytesUndecodable, FileMissing, FileUnreadable

Source: TypeAlias = str | Path | BinaryIO | TextIO
BLOCK_BYTES = 1 << 16
GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = "\ufeff"
OTHER_ENCODING = "Save the file as UTF-8, or name its encoding, e.g. --encoding gb18030."
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Lines:
    """The lines of a source without their ends; only \\n and \\r\\n end a line.

    `number` is that of the line last handed out, from 1. `drained` says that the next line would have to be
    waited for: what has been read so far should be answered first.
    """

    def __init__(self, source: BinaryIO | TextIO, *, path: Path, encoding: str = "utf-8") -> None:
        self.path, self.encoding = path, encoding
        self.number, self.drained = 0, False
        self._peeked: str | None = None
        if isinstance(source, io.TextIOBase):
            self._lines = self._from_text(cast(TextIO, source))
        elif _newline_is_one_byte(encoding, path=path):
            self._lines = self._from_bytes(cast(BinaryIO, source))
        else:
            self._lines = self._from_characters(cast(BinaryIO, source))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines) if self._peeked is None else self._peeked
        self._peeked = None
        self.number += 1
        return line

    def peek(self) -> str | None:
        """The next line, which stays the next one; None when there is none."""
        if self._peeked is None:
            self._peeked = next(self._lines, None)
        return self._peeked

    def _from_bytes(self, source: BinaryIO) -> Iterator[str]:
        live, read = _is_live(source), _reader(source)
        pending: list[bytes] = []  # the pieces of a line whose end has not come yet
        while block := self._block(read):
            head, *others = block.split(b"\n")
            pending.append(head)
            if not others:
                continue
            complete = [b"".join(pending), *others[:-1]]
            pending = [others[-1]]
            for place, line in enumerate(complete, start=1):
                self.drained = live and place == len(complete)
                yield self._decoded(line)
        if last := b"".join(pending):
            yield self._decoded(last)

    def _from_text(self, source: TextIO) -> Iterator[str]:
        while line := source.readline():
            yield _whole(self._stripped(line.removesuffix("\n")))

    def _from_characters(self, source: BinaryIO) -> Iterator[str]:
        """For encodings in which bytes cannot be cut into lines before they are characters."""
        read, decoder, pending = _reader(source), codecs.getincrementaldecoder(self.encoding)(), ""
        while True:
            block = self._block(read)
            try:
                *complete, pending = (pending + decoder.decode(block, final=not block)).split("\n")
            except UnicodeDecodeError as error:
                before = pending + error.object[: error.start].decode(error.encoding, "replace")
                row = self.number + 1 + before.count("\n")
                raise self._undecodable(error.object[error.start : error.end], row=row) from error
            yield from (_whole(self._stripped(line)) for line in complete)
            if not block:
                break
        if pending:
            yield _whole(self._stripped(pending))

    def _block(self, read: Callable[[int], bytes]) -> bytes:
        try:
            return read(BLOCK_BYTES)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            advice = "Pack the file again, or fetch it again from where it is whole."
            raise FileUnreadable(path=self.path, kind="gzip", reason=str(error), advice=advice) from error

    def _decoded(self, line: bytes) -> str:
        try:
            return _whole(self._stripped(line.decode(self.encoding)))
        except UnicodeDecodeError as error:
            raise self._undecodable(line[error.start : error.end], row=self.number + 1) from error

    def _undecodable(self, found: bytes, *, row: int) -> BytesUndecodable:
        return BytesUndecodable(path=self.path, row=row, encoding=self.encoding, found=found, advice=OTHER_ENCODING)

    def _stripped(self, line: str) -> str:
        return (line.removeprefix(BYTE_ORDER_MARK) if self.number == 0 else line).removesuffix("\r")


def _whole(line: str) -> str:
    """Without lone surrogates, which stand for bytes or halves that are no text and could not be written out again."""
    return line if line.isascii() else LONE_SURROGATE.sub("\ufffd", line)


@contextmanager
def opened(source: Source, *, encoding: str) -> Iterator[Lines]:
    """The lines of a path or of an open stream; a path is closed afterwards, a stream is left to its owner."""
    if isinstance(source, str | Path):
        path = Path(source)
        with _open_file(path) as file:
            yield Lines(_unzipped(file), path=path, encoding=encoding)
    else:
        inner = source.buffer if isinstance(source, io.TextIOWrapper) else source
        path = Path(str(getattr(source, "name", "<stream>")))
        yield Lines(_unzipped(inner) if isinstance(inner, io.BufferedReader) else inner, path=path, encoding=encoding)


def _open_file(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError:
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileMissing(path=str(path), looked_in=[path.parent.resolve()], beside=beside) from None
    except OSError as error:  # a folder, or a file one may not read
        advice = "Give a file of rows that you may read."
        raise FileUnreadable(path=path, kind="rows to predict", reason=str(error.strerror), advice=advice) from error


def _unzipped(file: io.BufferedReader) -> BinaryIO:
    is_gzip = file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
    return gzip.GzipFile(fileobj=file) if is_gzip else file  # type: ignore[return-value]  # a BinaryIO in all but name


def _newline_is_one_byte(encoding: str, *, path: Path) -> bool:
    """Whether a line ends at the byte of a line feed; in UTF-16 that byte is half a character."""
    try:
        return "\n".encode(encoding) == b"\n"
    except LookupError:
        advice = "Correct `--encoding`, e.g. utf-8, utf-16, latin-1 or gb18030."
        reason = "no encoding has that name"
        raise FileUnreadable(path=path, kind=f"{encoding} text", reason=reason, advice=advice) from None


def _reader(source: BinaryIO) -> Callable[[int], bytes]:
    """`read1` gives what has arrived instead of waiting for a full block."""
    read: Callable[[int], bytes] = getattr(source, "read1", source.read)
    return read


def _is_live(source: BinaryIO) -> bool:
    """Whether reading may have to wait for someone: a pipe, a socket or a terminal, but no file on a disk."""
    try:
        return not stat.S_ISREG(os.fstat(source.fileno()).st_mode)
    except (OSError, AttributeError):
        return False  # bytes in memory
