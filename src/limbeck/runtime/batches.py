"""Splits rows into chunks that fit in memory, and chunks into batches of rows of similar length."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from limbeck.runtime.row import Row, characters, checked_rows, refuse_no_list

CHUNK_ROWS = 4_096  # enough to sort by length over; beyond that, memory grows and padding hardly shrinks
CHUNK_CHARACTERS = 4_000_000  # so that a chunk of very long texts stays small too
ROWS_AT_ONCE = 16  # read and checked together: one by one is slower, and more may be large
BATCH_TOKENS = 1_024  # measured: larger batches were no faster on one core, smaller ones spread better over threads


def chunks_of(rows: Iterable[Any], *, pair: bool) -> Iterable[list[Row]]:
    """The rows in order, checked, in non-empty lists of limited rows and characters.

    A chunk ends once it has too many characters, checked every ROWS_AT_ONCE rows. Raises NothingToPredict.
    """
    if isinstance(rows, list) and len(rows) <= ROWS_AT_ONCE:  # for a single row, every microsecond counts
        return [checked_rows(rows, pair=pair)] if rows else []
    refuse_no_list(rows, pair=pair)
    return _chunks(rows, pair=pair)


def _chunks(rows: Iterable[Any], *, pair: bool) -> Iterator[list[Row]]:
    source, taken = iter(rows), 0
    chunk: list[Row] = []
    size = 0
    while some := list(islice(source, min(ROWS_AT_ONCE, CHUNK_ROWS - len(chunk)))):
        chunk += checked_rows(some, pair=pair, first=taken)
        taken += len(some)
        size += sum(map(characters if pair else len, some))
        if len(chunk) >= CHUNK_ROWS or size >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def length_batches(lengths: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Positions of the rows of every batch, longest rows first; a row has one length for each of its texts.

    A batch takes rows × (longest text + longest second text) tokens once it is padded; that stays within
    BATCH_TOKENS, unless a single row is longer.
    """
    batches: list[list[int]] = []
    widths: tuple[int, ...] = ()
    for position in sorted(range(len(lengths)), key=lambda row: (sum(lengths[row]), row), reverse=True):
        wider = tuple(map(max, widths, lengths[position])) if widths else lengths[position]
        if widths and (len(batches[-1]) + 1) * sum(wider) <= BATCH_TOKENS:
            batches[-1].append(position)
            widths = wider
        else:
            batches.append([position])
            widths = lengths[position]
    return batches
