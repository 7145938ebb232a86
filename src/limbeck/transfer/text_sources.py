"""The sources of transfer text: files and data sets of the hub, each read row by row."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from limbeck.errors import FileEmpty, FileUnreadable, HubUnreachable, some
from limbeck.recipe.corpus import Column
from limbeck.recipe.files import expand
from limbeck.recipe.transfer import Transfer, named_split
from limbeck.tables import Record, TableForm, read_table
from limbeck.tables.hub import load_data_set
from limbeck.tables.raw_table import NumberedCells, RawTable, Watch, unwatched
from limbeck.tables.table import table_records
from limbeck.transfer.shingles import Piece

MOST_SAMPLED, SAMPLE_TEXTS = 50, 2_000  # sources, and texts of all of them together


@dataclass(frozen=True)
class TextSource:
    """A file, or a split of a data set. `records` may be called more than once; each call reads it again."""

    name: str
    size: int  # bytes; 0 where it is not known
    records: Callable[[Watch], Iterator[Record]]

    def texts(self, watch: Watch = unwatched) -> Iterator[Piece]:
        """Its texts without white space around them; nothing if it is empty."""
        try:
            for record in self.records(watch):
                text, *pair = record.values
                yield text.strip(), pair[0].strip() if pair else None
        except FileEmpty:  # one empty file among many is fine; if nothing is kept at all, the stage reports it
            return


def text_sources(section: Transfer) -> list[TextSource]:
    """Everything that the section names, files first, each once."""
    columns = {"text": section.text} | ({} if section.pair is None else {"pair": section.pair})
    paths = list(dict.fromkeys(path for pattern in section.files for path in expand(pattern)))
    root = Path(os.path.commonpath([path.parent for path in paths])) if paths else Path()
    files = [_file(section, path, columns, name=path.relative_to(root).as_posix()) for path in paths]
    return [*files, *(source for name in dict.fromkeys(section.hub) for source in _splits(section, name, columns))]


def sample_of(sources: Sequence[TextSource]) -> list[str]:
    """The first texts of some sources, evenly spaced, in equal parts."""
    chosen = sources[:: max(1, -(-len(sources) // MOST_SAMPLED))]
    each = max(1, SAMPLE_TEXTS // max(1, len(chosen)))
    pieces = [piece for source in chosen for piece in islice(source.texts(), each)]
    return [text for piece in pieces for text in piece if text is not None]


def _file(section: Transfer, path: Path, columns: dict[str, Column], *, name: str) -> TextSource:
    def records(watch: Watch) -> Iterator[Record]:
        form = TableForm.of(section, txt_holds="lines")
        return read_table(path, form=form, columns=columns, where=section.where, watch=watch)

    return TextSource(name, path.stat().st_size if path.is_file() else 0, records)


def _splits(section: Transfer, name: str, columns: dict[str, Column]) -> list[TextSource]:
    data_set, wanted = named_split(name)
    loaded = load_data_set(data_set, streaming=True)
    if wanted is not None and wanted not in loaded:
        reason = f"its splits: {some(list(loaded), most=6)}"
        advice = "Name one of them after the colon in `hub`, or none to use all."
        raise FileUnreadable(
            path=Path(data_set), kind=f"a data set with a split '{wanted}'", reason=reason, advice=advice
        )
    short = Path(data_set).name if Path(data_set).is_dir() else data_set
    return [
        _split(section, loaded[split], columns, data_set=data_set, name=f"{short}:{split}")
        for split in ([wanted] if wanted is not None else list(loaded))
    ]


def _split(section: Transfer, split: Any, columns: dict[str, Column], *, data_set: str, name: str) -> TextSource:
    def records(watch: Watch) -> Iterator[Record]:
        del watch
        try:
            table = _as_table(split, name)
            yield from table_records(table, columns=columns, where=section.where)
        except (ConnectionError, TimeoutError) as error:
            raise HubUnreachable(name=data_set, tried=[name], reason=f"the stream broke off: {error}") from None

    return TextSource(name, 0, records)


def _as_table(split: Any, name: str) -> RawTable:
    columns: list[str] = list(split.column_names or next(iter(split), {}))

    def cells(positions: Sequence[int]) -> Iterator[NumberedCells]:
        names = [columns[at] for at in positions]
        for number, row in enumerate(split.select_columns(list(dict.fromkeys(names))), start=1):
            yield number, tuple(row[name] for name in names)

    return RawTable(path=Path(name), columns=columns, is_named=True, rows=cells)
