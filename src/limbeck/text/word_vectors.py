"""Reads the vectors of wanted words from GloVe and word2vec files."""

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from codecs import getincrementaldecoder
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from limbeck.errors import StudentError, some

ZIP_MAGIC = b"PK\x03\x04"
PACKERS: dict[bytes, tuple[str, Callable[..., Any]]] = {  # by the first bytes of the file
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
BYTES_AT_ONCE = 1 << 20
BYTES_OF_NUMBERS = b"0123456789+-.eE \t\r\n"
HEADER = re.compile(rb"(\d{1,12})[ \t](\d{1,5})[ \t]*\r?\n?")
NUMBER = re.compile(rb"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class VectorsMalformed(StudentError):
    """A file of word vectors cannot be read."""

    def __init__(self, *, path: Path, line: int, reason: str) -> None:
        super().__init__(
            f"'{path}', line {line:,}: {reason}",
            advice="Word vectors are read as text (GloVe, word2vec, fastText's .vec) or as word2vec binary (.bin), "
            "each also packed by gzip, bzip2, xz or zip.",
        )


class VectorRecord(NamedTuple):
    """One word of the file. `numbers` are the raw bytes, since most words are not wanted."""

    line: int
    word: bytes
    numbers: bytes


class VectorFileLayout(NamedTuple):
    """The layout found in the first bytes: numbers per word, header or not, and the word count of a binary file."""

    width: int
    header: bool
    binary_count: int | None


def read_word_vectors(path: Path, words: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """(words, width) vectors and (words) whether the file has the word; rows of missing words are zeros.

    A word that the file does not have in this spelling gets the vector of its lower-cased form. Reads GloVe text,
    word2vec text and word2vec binary, each also packed, in one pass, with memory for the wanted words only. Of two
    entries for the same word the first is used.
    """
    with _opened(path) as stream:
        layout = _layout(path, stream)
        records = _text_records(path, stream, layout) if layout.binary_count is None else _binary(path, stream, layout)
        return _gathered(path, records, words, layout)


def first_words(path: Path, *, most: int) -> list[str]:
    """The first words of a file, which are the most frequent ones: files are written in that order."""
    with _opened(path) as stream:
        layout = _layout(path, stream)
        records = _text_records(path, stream, layout) if layout.binary_count is None else _binary(path, stream, layout)
        return [record.word.decode("utf-8", "replace") for record in islice(records, most)]


def vector_width(path: Path) -> int:
    """Numbers per vector in a file, read from its start."""
    with _opened(path) as stream:
        return _layout(path, stream).width


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """The file's bytes, decompressed."""
    with path.open("rb") as raw:
        magic = raw.peek(8)[:8]
        packed = next((one for start, one in PACKERS.items() if magic.startswith(start)), None)
        if packed is None and not magic.startswith(ZIP_MAGIC):
            yield raw
            return
        name, unpack = packed or ("zip", partial(_only_member, path))
        try:
            with unpack(raw) as unpacked:
                yield cast(BufferedReader, unpacked)  # also a stream of bytes
        except DAMAGED as error:
            raise VectorsMalformed(path=path, line=1, reason=f"the {name} data is damaged: {error}") from None
        except OSError as error:
            if name != "bzip2":  # which has no error of its own
                raise
            raise VectorsMalformed(path=path, line=1, reason=f"the {name} data is damaged: {error}") from None


def _only_member(path: Path, raw: BufferedReader) -> IO[bytes]:
    """The one file in a zip archive."""
    archive = zipfile.ZipFile(raw)
    names = [member.filename for member in archive.infolist() if not member.is_dir()]
    if len(names) != 1:
        reason = f"this zip archive holds {len(names)} files ({some(names)}): unpack it, and name one of them"
        raise VectorsMalformed(path=path, line=1, reason=reason)
    return archive.open(names[0])


def _layout(path: Path, stream: BufferedReader) -> VectorFileLayout:
    start = _peek(stream)
    first_line = start.split(b"\n", 1)[0]
    if not start.strip():
        raise VectorsMalformed(path=path, line=1, reason="the file is empty")
    header = HEADER.fullmatch(first_line)
    if header is None:
        width = len(_tidy(first_line).split(b" ")) - 1
        if width < 1:
            raise VectorsMalformed(path=path, line=1, reason="neither a word with its numbers nor a header")
        return VectorFileLayout(width=width, header=False, binary_count=None)
    count, width = int(header[1]), int(header[2])
    if width == 0:
        raise VectorsMalformed(path=path, line=1, reason="the header gives a vector width of 0")
    is_binary = _is_binary(path, start[len(first_line) + 1 :], width)
    return VectorFileLayout(width=width, header=True, binary_count=count if is_binary else None)


def _peek(stream: BufferedReader) -> bytes:
    """Some bytes from the start, at least the complete first line, without moving the position."""
    start = stream.read(BYTES_AT_ONCE)
    stream.seek(0)
    return start


def _is_binary(path: Path, after_header: bytes, width: int) -> bool:
    """Whether the file is binary: by its ending, else by whether what follows the first word is not text."""
    if ".bin" in path.suffixes[-2:]:
        return True
    numbers = after_header.partition(b" ")[2][: 4 * width]
    try:
        getincrementaldecoder("utf-8")().decode(numbers)  # incremental: the last character may be cut in two
    except UnicodeDecodeError:
        return True
    return CONTROL.search(numbers) is not None


def _text_records(path: Path, stream: BufferedReader, layout: VectorFileLayout) -> Iterator[VectorRecord]:
    width = layout.width
    for line, raw in enumerate(stream, start=1):
        text = _tidy(raw)
        if not text or (line == 1 and layout.header):
            continue
        spaces = text.count(b" ")
        if spaces < width:
            raise VectorsMalformed(path=path, line=line, reason=f"{spaces} numbers, {width} are expected")
        if spaces == width:
            word, _, numbers = text.partition(b" ")
        else:
            word, numbers = _split_from_the_right(text, width)
            if NUMBER.fullmatch(word.rsplit(b" ", 1)[-1]):
                raise VectorsMalformed(path=path, line=line, reason=f"more numbers than the {width} expected")
        if strange := numbers.translate(None, BYTES_OF_NUMBERS):
            shown = strange[:20].decode("utf-8", "replace")
            raise VectorsMalformed(path=path, line=line, reason=f"'{shown}' among the numbers")
        yield VectorRecord(line, word, numbers)


def _tidy(line: bytes) -> bytes:
    return line.rstrip(b" \t\r\n").replace(b"\t", b" ")


def _split_from_the_right(text: bytes, width: int) -> tuple[bytes, bytes]:
    """A word with spaces inside, as GloVe 840B has them, and its numbers."""
    word, *numbers = text.rsplit(b" ", width)
    return word.rstrip(b" "), b" ".join(numbers)


def _binary(path: Path, stream: BufferedReader, layout: VectorFileLayout) -> Iterator[VectorRecord]:
    """Records of a word, a space and 4-byte floats; some writers put a line break between them."""
    stream.readline()  # the header
    size, count = 4 * layout.width, cast(int, layout.binary_count)
    buffer, position = b"", 0
    for record in range(1, count + 1):
        while (space := buffer.find(b" ", position)) < 0 or space + 1 + size > len(buffer):
            more = stream.read(BYTES_AT_ONCE)
            if not more:
                reason = f"the file ends after {record - 1:,} of the {count:,} vectors that its header declares"
                raise VectorsMalformed(path=path, line=record + 1, reason=reason)
            buffer, position = buffer[position:] + more, 0
        yield VectorRecord(record + 1, buffer[position:space].lstrip(b"\n"), buffer[space + 1 : space + 1 + size])
        position = space + 1 + size


def _gathered(
    path: Path, records: Iterator[VectorRecord], words: Sequence[str], layout: VectorFileLayout
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    exact, lowered = _wanted(words)
    vectors = np.zeros((len(words), layout.width), dtype=np.float32)
    found = np.zeros(len(words), dtype=np.bool_)
    record = None
    for record in records:
        own, others = exact.pop(record.word, ()), lowered.pop(record.word, ())
        for row in [*own, *(row for row in others if not found[row])]:
            vectors[row] = _numbers(path, record, binary=layout.binary_count is not None)
            found[row] = True
    if record is None:
        raise VectorsMalformed(path=path, line=1, reason="the file holds no vectors")
    return vectors, found


def _wanted(words: Sequence[str]) -> tuple[dict[bytes, list[int]], dict[bytes, list[int]]]:
    """Rows by the word itself, and by its lower-cased form if that is another word; as bytes, like the file."""
    exact, lowered = defaultdict[bytes, list[int]](list), defaultdict[bytes, list[int]](list)
    for row, word in enumerate(words):
        exact[word.encode("utf-8", "surrogatepass")].append(row)
        if word.lower() != word:
            lowered[word.lower().encode("utf-8", "surrogatepass")].append(row)
    return dict(exact), dict(lowered)


def _numbers(path: Path, record: VectorRecord, *, binary: bool) -> npt.NDArray[np.float32]:
    if binary:
        vector = np.frombuffer(record.numbers, dtype="<f4").astype(np.float32)
    else:
        try:
            with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused below
                vector = np.array([float(number) for number in record.numbers.split(b" ")]).astype(np.float32)
        except ValueError as error:
            raise VectorsMalformed(path=path, line=record.line, reason=str(error)) from None
    if not np.isfinite(vector).all():
        raise VectorsMalformed(path=path, line=record.line, reason="a number that is not finite")
    return vector


def principal_components(states: npt.NDArray[np.float32], *, width: int) -> npt.NDArray[np.float32]:
    """(rows, width): centred, rotated to the axes of largest variance, scaled to a variance of one over all values.

    Signs are fixed (the largest weight of each axis is positive), so that equal states give equal vectors.
    """
    centred = states - states.mean(axis=0)
    # Eigenvectors of the covariance: its size is the teacher's width, for any number of words.
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = axes[:, ::-1][:, :width]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    projected = centred @ axes.astype(np.float32)
    spread = float(projected.std()) or 1.0
    return np.asarray(projected / spread, dtype=np.float32)
