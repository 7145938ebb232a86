"""Cutting rows into chunks that fit in memory, and chunks into batches of rows of similar length."""

from collections.abc import Iterable, Iterator, Sequence

from limbeck.runtime.row import Row, characters

CHUNK_ROWS = 4_096  # enough to sort by length over; beyond that, memory grows and padding hardly shrinks
CHUNK_CHARACTERS = 4_000_000  # so that a chunk of very long texts stays small too
BATCH_TOKENS = 1_024  # measured: larger batches were no faster on one core, smaller ones share the work better


def chunks_of(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in order, in lists that are bounded in rows and in characters; none is empty."""
    chunk: list[Row] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += characters(row)
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
