"""Text out of a file, a pipe or a stream, gzipped or not, in blocks and lines; faults are reported with their row."""

import codecs
import io
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias, cast

from limbeck.errors import BytesUndecodable, DataError, FileMissing, FileUnreadable, RowMalformed
from limbeck.tables.formats import DEFAULT, FIRST_LINES, TableForm
from limbeck.tables.raw_table import Watch, unwatched
from limbeck.tables.unpacking import Unpacked

Source: TypeAlias = str | Path | BinaryIO | TextIO
GZIP_MAGIC = b"\x1f\x8b"
BUFFER_BYTES = 1 << 20
BLOCK_BYTES = 1 << 16
MOST_HEAD = 1 << 22  # characters looked at for FIRST_LINES lines; they may be long
LONGEST_ROW = 1 << 24  # characters of a line, of a csv row over several lines, or of a JSON object
BYTE_ORDER_MARK = "\ufeff"
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
WITHOUT_HALVES = ("utf-8", "utf-16", "utf-32", "gb", "big5", "iso8859", "cp", "ascii", "latin")  # decode to whole text


class _Watched(io.RawIOBase):
    """A file that reports how much of it has been read."""

    def __init__(self, raw: io.FileIO, watch: Watch) -> None:
        self._raw, self._watch = raw, watch

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int:
        count = self._raw.readinto(buffer) or 0
        self._watch(count)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def path_of(source: Source) -> Path:
    """The path, or for a stream a name for messages."""
    return Path(source) if isinstance(source, str | Path) else Path(str(getattr(source, "name", "<stream>")))


@contextmanager
def opened(source: Source, *, watch: Watch = unwatched) -> Iterator[BinaryIO | TextIO]:
    """The bytes, unpacked if they start as gzip does, whatever the name; of a stream that gives only text, the text.

    A path is closed afterwards, a stream is left to its owner.
    """
    if isinstance(source, str | Path):
        with io.BufferedReader(_Watched(_opened_file(Path(source)), watch), BUFFER_BYTES) as file:
            yield from _unpacked(file, path=Path(source))
        return
    inner = source.buffer if isinstance(source, io.TextIOWrapper) else source
    if isinstance(inner, io.BufferedReader):
        yield from _unpacked(inner, path=path_of(source))
    else:
        yield inner


def refuse_pipe(path: Path) -> None:
    """For whoever reads a file more than once: a pipe would be waited for, or be empty the second time."""
    with suppress(OSError, ValueError):  # which is reported when it is opened
        if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
            advice = "Write what comes out of it into a file, and give that."
            raise FileUnreadable(path=path, kind="rows", reason="it is a pipe or a device", advice=advice)


def _opened_file(path: Path) -> io.FileIO:
    try:
        return io.FileIO(str(path))
    except FileNotFoundError:
        beside = [inner.name for inner in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileMissing(path=str(path), looked_in=[path.parent.resolve()], beside=beside) from None
    except OSError as error:  # a folder, or a file that this user may not read
        advice = "Give a file of rows that you may read."
        reason = str(error.strerror or error)
        raise FileUnreadable(path=path, kind="rows", reason=reason, advice=advice) from None


def _unpacked(file: "io.BufferedReader[Any]", *, path: Path) -> Iterator[BinaryIO]:
    if not file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
        yield file
        return
    with io.BufferedReader(Unpacked(file, path=path), BUFFER_BYTES) as unpacked:
        yield unpacked


class TextInput:
    """The text of a source without a byte order mark, read once, in blocks or in lines.

    `head` looks ahead and takes nothing away. `is_live`: the source is a pipe or a terminal. `drained`: it is, and the
    next line would have to be waited for: what has been read so far should be answered first.
    """

    def __init__(self, source: Source, *, form: TableForm = DEFAULT, watch: Watch = unwatched) -> None:
        self.path, self.drained = path_of(source), False
        self.is_live, self._form = False, form
        self._reading = self._read(source, watch)
        self._ahead: list[str] = []
        self._ends_ahead = 0  # line ends in it
        self._fault: DataError | None = None
        self._taken = self._row_start = self._lines = 0

    def head(self, lines: int = FIRST_LINES) -> str:
        """The first lines: at least this many, if there are as many; of a pipe, those that arrived with the first.

        None at all are asked for: the first characters that are no white space.
        """
        while not self._has_ahead(lines):
            try:
                block = next(self._reading, None)
            except DataError as fault:
                if not self._ahead:
                    raise
                self._fault = fault  # the rows before it come first
                break
            if block is None:
                break
            self._ahead.append(block)
            self._ends_ahead += block.count("\n")
        return "".join(self._ahead)

    def blocks(self) -> Iterator[str]:
        """All of it in pieces as they arrive."""
        ahead, self._ahead = self._ahead, []
        for block in ahead:
            self._taken += len(block)
            yield block
        if self._fault is not None:
            raise self._fault
        for block in self._reading:
            self._taken += len(block)
            yield block

    def begin_row(self, number: int) -> None:
        """All that was taken belongs to rows before row `number`; how long this one may be is counted from here."""
        self._row_start, self._lines = self._taken, number

    def lines(self) -> Iterator[str]:
        r"""The lines without their ends; only \n and \r\n end a line: a stray \r inside a text must not cut it."""
        pending: list[str] = []  # the pieces of a line whose end has not come yet
        number = 1
        for block in self.blocks():
            first, *lines = block.split("\n")
            pending.append(first)
            if not lines:
                self._refuse_long()
                continue
            number += len(lines)
            self.begin_row(number)
            lines.insert(0, "".join(pending))
            pending = [lines.pop()]
            if "\r" in block or "\r" in lines[0]:
                lines = [line.removesuffix("\r") for line in lines]
            if not self.is_live:
                yield from lines
                continue
            for place, line in enumerate(lines, start=1):
                self.drained = place == len(lines)
                yield line
        if last := "".join(pending):
            yield last.removesuffix("\r")

    def lines_with_ends(self) -> Iterator[str]:
        r"""The lines as csv readers want them: \n, \r\n and \r alone end a line, and stay at its end."""
        pending: list[str] = []
        for block in self._whole_line_ends():
            self._refuse_long()
            lines = list(io.StringIO(block, newline=""))
            if pending:
                lines[0] = "".join([*pending, lines[0]])
                pending = []
            if lines[-1][-1] not in "\r\n":
                pending.append(lines.pop())
            if not self.is_live:
                yield from lines
                continue
            for place, line in enumerate(lines, start=1):
                self.drained = place == len(lines)
                yield line
        if pending:
            yield "".join(pending)

    def close(self) -> None:
        """Close the file; nothing more can be read."""
        self._reading.close()

    def _refuse_long(self) -> None:
        """Raise before a row without an end fills the memory: a small packed file may hold gigabytes of it."""
        if self._taken - self._row_start > LONGEST_ROW + BLOCK_BYTES:
            raise row_too_long(self.path, max(1, self._lines))

    def _whole_line_ends(self) -> Iterator[str]:
        r"""Blocks that are never empty, and never end between \r and \n."""
        decoder = io.IncrementalNewlineDecoder(None, translate=False)
        for block in self.blocks():
            if text := decoder.decode(cast(Any, block)):
                yield text
        if text := decoder.decode(cast(Any, ""), final=True):
            yield text

    def _has_ahead(self, lines: int) -> bool:
        if self._fault is not None or not self._ahead:
            return self._fault is not None
        if sum(map(len, self._ahead)) >= MOST_HEAD:
            return True
        if not lines:
            return any(block and not block.isspace() for block in self._ahead)
        return self._ends_ahead >= (1 if self.is_live else lines)

    def _read(self, source: Source, watch: Watch) -> Generator[str, None, None]:
        decoder = _decoder(self._form, path=self.path)
        with opened(source, watch=watch) as stream:
            if isinstance(stream, io.TextIOBase):
                texts: Iterator[str] = (LONE_SURROGATE.sub("\ufffd", line) for line in _text_pieces(stream))
            else:
                self.is_live = _is_live(cast(BinaryIO, stream))
                texts = self._decoded(cast(BinaryIO, stream), decoder)
            is_first = True
            for text in texts:
                text = text.removeprefix(BYTE_ORDER_MARK) if is_first else text
                if text:
                    is_first = False
                    yield text

    def _decoded(self, stream: BinaryIO, decoder: codecs.IncrementalDecoder) -> Iterator[str]:
        read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)  # what has arrived, not a full block
        may_have_halves = not codecs.lookup(self._form.encoding).name.startswith(WITHOUT_HALVES)
        self._refuse_wide(block := read(BLOCK_BYTES))
        line_ends = 0
        while True:
            fault = None
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                text, found = _before_fault(error, block)
                row = line_ends + text.count("\n") + 1
                fault = self._undecodable(found, row=row)
            yield LONE_SURROGATE.sub("\ufffd", text) if may_have_halves else text
            if fault is not None:
                raise fault
            if not block:
                return
            line_ends += text.count("\n")
            block = read(BLOCK_BYTES)

    def _refuse_wide(self, head: bytes) -> None:
        """UTF-16 is valid UTF-8, with a zero after every letter, and would be read as such."""
        if codecs.lookup(self._form.encoding).name == "utf-8" and (wide := wide_encoding(head)):
            named = f"--encoding {wide}" if self._form.by_options else f'encoding = "{wide}" in the recipe'
            advice = f"It looks like UTF-16: name it by {named}, or save the file as UTF-8."
            raise BytesUndecodable(path=self.path, row=1, encoding="utf-8", found=head[:4], advice=advice)

    def _undecodable(self, found: bytes, *, row: int) -> BytesUndecodable:
        advice = "Save the file as UTF-8, or name its encoding, e.g. --encoding gb18030."
        return BytesUndecodable(
            path=self.path,
            row=row,
            encoding=self._form.encoding,
            found=found,
            advice=advice if self._form.by_options else "",
        )


def _text_pieces(stream: io.TextIOBase) -> Iterator[str]:
    """Its lines, in pieces where they are long."""
    while piece := stream.readline(BLOCK_BYTES):
        yield piece


def row_too_long(path: Path, row: int) -> RowMalformed:
    """The error for a row that is longer than LONGEST_ROW."""
    reason = f"more than {LONGEST_ROW:,} characters in one row"
    advice = "Check that the rows have line ends, and that no quote is left open; split longer texts into several rows."
    return RowMalformed(path=path, row=row, reason=reason, advice=advice)


ZERO_SHARE = 0.5


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 without its mark: every second byte of most characters is zero, of the first or of the second ones."""
    for encoding, high, low in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if high.count(0) > ZERO_SHARE * len(high) and low.count(0) <= (1 - ZERO_SHARE) * len(low):
            return encoding
    return None


def text_lines(path: Path, *, encoding: str) -> Iterator[str]:
    r"""The lines of a file without their ends, which are \n and \r\n."""
    return TextInput(path, form=TableForm(encoding=encoding)).lines()


def _before_fault(error: UnicodeError, block: bytes) -> tuple[str, bytes]:
    """The text before the first bytes that do not decode, and these bytes."""
    if not isinstance(error, UnicodeDecodeError):  # UTF-16 without a byte order mark says no more than this
        return "", block[:4]
    before = error.object[: error.start].decode(error.encoding, "replace")
    return before, error.object[error.start : error.end] or error.object[-1:]


def _decoder(form: TableForm, *, path: Path) -> codecs.IncrementalDecoder:
    try:
        if not _is_text_encoding(form.encoding):
            raise LookupError
        return codecs.getincrementaldecoder(form.encoding)()
    except (LookupError, ValueError):
        key = "--encoding" if form.by_options else "encoding"
        advice = f'Correct `{key}`, e.g. "utf-8", "utf-16", "latin-1" or "gb18030".'
        reason = "no encoding has that name"
        raise FileUnreadable(path=path, kind=f"{form.encoding} text", reason=reason, advice=advice) from None


def _is_text_encoding(name: str) -> bool:
    """Whether bytes become text by it; codecs such as zlib and rot13 have other uses. Raises LookupError."""
    return bool(getattr(codecs.lookup(name), "_is_text_encoding", True)) and name.isascii()


def _is_live(stream: BinaryIO) -> bool:
    """Whether reading may have to wait for someone: a pipe, a socket or a terminal, but no file on a disk."""
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, AttributeError):
        return False  # bytes in memory
