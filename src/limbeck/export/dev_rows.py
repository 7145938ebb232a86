"""Which rows of dev an exported file is compared on, and what the runtime takes them as."""

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.rows import Rows
from limbeck.errors import TooFewRows
from limbeck.runtime.row import Row

Positions = npt.NDArray[np.int64]
ROWS_PER_END = 50  # of so many rows, one is among the shortest of all and one among the longest


def sample(rows: Rows, *, most: int, among: Positions | None = None) -> Rows:
    """At most so many rows: some of the shortest and of the longest, and others evenly spread.

    Faults may show at the ends, and files are often sorted by label. `among` are rows that are asked about anyhow:
    where there are enough of them, the others are of those.
    """
    if len(rows) == 0:
        raise TooFewRows(what="dev rows to compare the exported student on", rows=0, needed=1)
    if len(rows) <= most:
        return rows
    by_length, end = np.argsort(rows.characters, kind="stable"), most // ROWS_PER_END
    ends = np.concatenate([by_length[:end], by_length[len(rows) - end :]])
    everywhere = np.arange(len(rows)) if among is None or len(among) < most else among
    others = spread(np.setdiff1d(everywhere, ends), most - len(ends))
    return rows.select(np.sort(np.concatenate([ends, others])))


def spread(positions: Positions, most: int) -> Positions:
    """At most so many of them, evenly from the first to the last."""
    return positions[np.linspace(0, len(positions) - 1, num=min(most, len(positions)), dtype=np.int64)]


def asked_of(rows: Rows) -> list[Row]:
    """The rows as the runtime takes them."""
    return [*rows.texts] if rows.pairs is None else [*zip(rows.texts, rows.pairs, strict=True)]
