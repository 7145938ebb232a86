"""What is to be predicted, in pieces of some rows: row groups of a Parquet file, or another file as a whole."""

import fnmatch
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limbeck.artifacts.file_systems import RemoteFolder, is_address, without_keys
from limbeck.errors import FileMissing, PathUnusable, some
from limbeck.runtime.entries import InputRows, Trained, Wanted, opened_rows
from limbeck.tables.formats import FileFormat, TableForm, named_format
from limbeck.tables.parquet import BUFFER_BYTES, damage_as_user_errors, pyarrow
from limbeck.tables.raw_table import RawTable

ROWS_PER_PIECE = 1 << 17  # at least, if the file has more: whole row groups
PATTERN = set("*?[")


@dataclass(frozen=True)
class InputFile:
    """A file to predict, as it is now."""

    address: str  # a path, or an address of a file system
    bytes: int
    modified: int  # in nanoseconds since 1970

    @property
    def shown(self) -> str:
        """Its address for messages and files."""
        return without_keys(self.address)

    @property
    def folder(self) -> RemoteFolder:
        """The folder that it is in."""
        place = self.address if is_address(self.address) else Path(self.address).resolve().as_uri()
        head, mark, options = place.partition("?")
        return RemoteFolder(f"{head.rpartition('/')[0]}{mark}{options}")

    @property
    def name(self) -> str:
        """Its name in that folder."""
        return (
            self.address.partition("?")[0].rpartition("/")[2] if is_address(self.address) else Path(self.address).name
        )


@dataclass(frozen=True)
class Piece:
    """A part of a file."""

    number: int  # over all files
    file: InputFile
    groups: tuple[int, ...] | None = None  # row groups; None: the whole file

    @property
    def name(self) -> str:
        """Of the file that its predictions are written to, without ending."""
        return f"part-{self.number:06d}"


@dataclass(frozen=True)
class InputForm:
    """How files are read, as the options of `limbeck predict` say."""

    format: FileFormat = "auto"
    text: str | None = None
    pair: str | None = None
    header: bool | None = None
    quoting: bool | None = None
    encoding: str = "utf-8"
    trained: Trained | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """All that decides which texts are read."""
        return asdict(self)


def input_files(places: Sequence[str]) -> list[InputFile]:
    """The files of these paths, addresses, folders and patterns, in the order of their names for each."""
    found = [file for place in places for file in (_remote(place) if is_address(place) else _local(place))]
    names = [file.address for file in found]
    if twice := sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []:
        advice = "Name every file once."
        raise PathUnusable(path=twice[0], reason="it is among the files to predict more than once", advice=advice)
    return found


def pieces_of(files: Sequence[InputFile], reading: InputForm) -> list[Piece]:
    """All pieces, in order: the same for the same files."""
    pieces: list[Piece] = []
    for file in files:
        groups: list[tuple[int, ...] | None] = list(_row_groups(file)) if _is_parquet(file, reading) else [None]
        pieces += [Piece(number, file, part) for number, part in enumerate(groups, start=len(pieces))]
    return pieces


@contextmanager
def rows_of(piece: Piece, reading: InputForm, *, is_pair: bool) -> Iterator[InputRows]:
    """The rows of a piece; those of JSON and Parquet without a text are Unreadable, and no error."""
    wanted = Wanted(text=reading.text, pair=reading.pair, is_pair=is_pair, trained=reading.trained or Trained())
    with piece.file.folder.opened(piece.file.name) as stream:
        if piece.groups is not None:
            yield InputRows(_table(piece, stream), wanted, is_tolerant=True)
            return
        source = Path(piece.file.address) if not is_address(piece.file.address) else stream
        options = {"format": reading.format, "header": reading.header, "quoting": reading.quoting}
        with opened_rows(source, wanted, encoding=reading.encoding, is_tolerant=True, **options) as rows:  # type: ignore[arg-type]
            yield rows


def _table(piece: Piece, stream: Any) -> RawTable:
    _, pq = pyarrow(purpose="reading parquet files")
    path = Path(piece.file.shown)
    with damage_as_user_errors(path):
        file = pq.ParquetFile(stream, buffer_size=BUFFER_BYTES, pre_buffer=False)

    def batches(rows: int) -> Iterator[Any]:
        with damage_as_user_errors(path):
            for batch in file.iter_batches(batch_size=rows, row_groups=list(piece.groups or ())):
                batch.validate(full=True)
                yield batch

    names = list(file.schema_arrow.names)
    return RawTable(path=path, columns=names, is_named=True, rows=_no_rows, format="parquet", batches=batches)


def _no_rows(positions: Sequence[int]) -> Iterator[Any]:
    raise ValueError(f"columns {positions}: pieces are read in batches")


def _row_groups(file: InputFile) -> Iterator[tuple[int, ...]]:
    """Row groups that are read together: enough rows that a piece is worth its file."""
    _, pq = pyarrow(purpose="reading parquet files")
    with file.folder.opened(file.name) as stream, damage_as_user_errors(Path(file.shown)):
        metadata = pq.ParquetFile(stream, pre_buffer=False).metadata
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    waiting, rows = list[int](), 0
    for number, size in enumerate(sizes):
        waiting.append(number)
        rows += size
        if rows >= ROWS_PER_PIECE:
            yield tuple(waiting)
            waiting, rows = [], 0
    if waiting or not sizes:
        yield tuple(waiting)


def _is_parquet(file: InputFile, reading: InputForm) -> bool:
    form = TableForm(format=reading.format, by_options=True)
    return named_format(Path(file.name), form=form) == "parquet"


def _local(place: str) -> Iterator[InputFile]:
    path = Path(place)
    if path.is_file():
        names = [path]
    elif path.is_dir():
        names = sorted(inner for inner in path.iterdir() if inner.is_file() and inner.name[0] not in "._")
    else:
        start = Path(*(step for step in path.parts[: _pattern_at(path)]))
        names = sorted(inner for inner in start.glob(str(path.relative_to(start))) if inner.is_file())
    if not names:
        beside = [inner.name for inner in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileMissing(path=place, looked_in=[path.parent.resolve()], beside=beside)
    for name in names:
        yield InputFile(str(name), name.stat().st_size, name.stat().st_mtime_ns)


def _pattern_at(path: Path) -> int:
    """The first step of a path that is a pattern, or the last step."""
    return next((at for at, step in enumerate(path.parts) if PATTERN & set(step)), len(path.parts) - 1)


def _remote(place: str) -> Iterator[InputFile]:
    head, mark, options = place.partition("?") if "?" in place and "=" in place else (place, "", "")
    steps = head.split("/")
    fixed = next((at for at, step in enumerate(steps) if at > 2 and PATTERN & set(step)), len(steps) - 1)
    parent, pattern = RemoteFolder(f"{'/'.join(steps[:fixed])}{mark}{options}"), "/".join(steps[fixed:])
    names = parent.files(deep="/" in pattern or "**" in pattern)
    found = {name: size for name, size in names.items() if fnmatch.fnmatchcase(name, pattern)}
    if not found:  # a folder
        inner = parent.inner(pattern)
        found = {f"{pattern}/{name}": size for name, size in inner.files().items() if name[0] not in "._"}
    if not found:
        found_there = f"found there: {some(list(names))}" if names else "there is no such folder, or it is empty"
        raise PathUnusable(path=place, reason=f"it names no file; {found_there}", advice="Correct the address.")
    changed = parent.modified(list(found))
    for (name, size), modified in zip(found.items(), changed, strict=True):
        yield InputFile(f"{'/'.join(steps[:fixed])}/{name}{mark}{options}", size, modified)
