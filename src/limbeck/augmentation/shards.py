"""A folder of Arrow files that any number of runs add to: each is written whole, and none is ever changed.

The name of a file is a hash of its bytes, so that runs side by side cannot get in each other's way and damage is
noticed.
"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from limbeck.artifacts.manifest import DIGEST_BYTES, file_digest
from limbeck.artifacts.mapped import map_table


def stored_batches(folder: Path) -> Iterator[pa.RecordBatch]:
    """What the folder holds; a damaged file counts as not there."""
    for path in sorted(folder.glob("*.arrow")):
        try:
            table = map_table(path).table if file_digest(path) == path.stem else None
        except (OSError, pa.ArrowInvalid):
            continue
        if table is not None:
            yield from table.to_batches()


def keep(folder: Path, table: pa.Table) -> None:
    """Add a file with this table."""
    folder.mkdir(parents=True, exist_ok=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    name = blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
    scratch = folder / f"{name}.{uuid4().hex}.partial"  # another run may be writing the same file just now
    try:
        scratch.write_bytes(content)
        scratch.rename(folder / f"{name}.arrow")
    finally:
        scratch.unlink(missing_ok=True)
