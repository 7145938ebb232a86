"""Files of plain text: every line that is not blank is a row with one cell."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from limbeck.tables.opening import text_lines
from limbeck.tables.raw_table import NumberedCells, RawTable, Watch

ONLY_COLUMN = "line"


def lines_table(path: Path, *, encoding: str, watch: Watch) -> RawTable:
    """A file of plain lines."""

    def rows(positions: Sequence[int]) -> Iterator[NumberedCells]:
        for number, line in enumerate(text_lines(path, encoding=encoding, newline="\n", watch=watch), start=1):
            if stripped := line.strip():
                yield number, (stripped,) * len(positions)

    return RawTable(path=path, columns=[ONLY_COLUMN], is_named=True, rows=rows)
