"""Splits rows into portions for the processes that copy them, and returns the copies as Arrow batches."""

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from limbeck.artifacts.mapped import list_column
from limbeck.artifacts.rows import content_key
from limbeck.augmentation.copies import Copy, CopyMaker, Tally
from limbeck.augmentation.originals import Originals
from limbeck.text.folding import folded

ROWS_AT_ONCE = 256
SIDES = ("text", "pair")


class Portion(NamedTuple):
    """Some rows: the position of the first among all that are copied, copies of each, ids, and texts by side."""

    start: int
    copies: int
    ids: list[str]
    sides: tuple[list[str], ...]


def portions_of(originals: Originals) -> Iterator[Portion]:
    """All rows, in portions."""
    start = 0
    for rows, copies in originals.parts.values():
        for part in rows.slices(ROWS_AT_ONCE):
            yield Portion(start, copies, part.ids, (part.texts,) if part.pairs is None else (part.texts, part.pairs))
            start += len(part)


def schema_of(copy_maker: CopyMaker, *, sides: int) -> pa.Schema:
    """The columns of copies: the source's position among all rows that are copied, texts, folded key, words changed by
    each method."""
    texts = [(name, pa.large_string()) for name in SIDES[:sides]]
    numbers = [("key", pa.list_(pa.uint64(), 2)), ("changes", pa.list_(pa.int32(), len(copy_maker.methods)))]
    return pa.schema([("source", pa.int32()), *texts, *numbers])


def copy_portion(copy_maker: CopyMaker, portion: Portion) -> tuple[pa.RecordBatch, Tally]:
    """The copies that differ from their source and have words left, in the order of the rows, and counts of all."""
    tally, started = Tally.of(copy_maker.methods), perf_counter()
    sources: list[int] = []
    copies: list[Copy] = []
    for position, (row_id, *texts) in enumerate(zip(portion.ids, *portion.sides, strict=True), start=portion.start):
        for copy in copy_maker.copies_of(row_id, texts, tally, copies=portion.copies):
            if copy.sides == texts:
                tally.unchanged += 1
            elif copy.is_all_masks:
                tally.all_masks += 1
            else:
                sources.append(position)
                copies.append(copy)
    batch = _batch(copy_maker, sources, copies, sides=len(portion.sides))
    tally.all_seconds = perf_counter() - started
    return batch, tally


def _batch(copy_maker: CopyMaker, sources: list[int], copies: list[Copy], *, sides: int) -> pa.RecordBatch:
    schema = schema_of(copy_maker, sides=sides)
    keys = np.frombuffer(b"".join(folded_key(*copy.sides) for copy in copies), dtype=np.uint64).reshape(-1, 2)
    changes = np.array([copy.changes for copy in copies], dtype=np.int32).reshape(-1, len(copy_maker.methods))
    texts = [pa.array([copy.sides[side] for copy in copies], pa.large_string()) for side in range(sides)]
    columns = [pa.array(sources, pa.int32()), *texts, list_column(keys), list_column(changes)]
    return pa.record_batch(columns, schema=schema)


def folded_key(text: str, pair: str | None = None) -> bytes:
    """A hash that is the same for texts that differ only in case, white space or width."""
    return content_key(folded(text), None if pair is None else folded(pair))
