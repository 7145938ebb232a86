"""Rows: an id, a text, maybe a second text, maybe a label; kept as one Arrow table."""

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NO_LABEL = -1
KEY_BYTES = 16


class Rows:
    """A table of rows in a fixed order. Ids are unique within a run; texts need not be."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @classmethod
    def of(
        cls,
        *,
        ids: Sequence[str],
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        labels: Sequence[int] | npt.NDArray[np.int64] | None = None,
    ) -> "Rows":
        """Rows from columns of equal length."""
        columns = {"id": pa.array(ids, pa.string()), "text": pa.array(texts, pa.large_string())}
        if pairs is not None:
            columns["pair"] = pa.array(pairs, pa.large_string())
        columns["label"] = pa.array([NO_LABEL] * len(ids) if labels is None else labels, pa.int32())
        return cls(pa.table(columns))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> list[str]:
        """The row ids."""
        return list(self.table["id"].to_pylist())

    @cached_property
    def texts(self) -> list[str]:
        """The texts."""
        return list(self.table["text"].to_pylist())

    @cached_property
    def pairs(self) -> list[str] | None:
        """The second texts, or None for a corpus of single texts."""
        return list(self.table["pair"].to_pylist()) if "pair" in self.table.column_names else None

    @cached_property
    def labels(self) -> npt.NDArray[np.int64]:
        """Class numbers; NO_LABEL where a row has none."""
        return np.asarray(self.table["label"].to_numpy(), dtype=np.int64)

    @cached_property
    def keys(self) -> npt.NDArray[np.uint64]:
        """(rows, 2): the content key of every row."""
        return content_keys(self.texts, self.pairs)

    def select(self, positions: Sequence[int] | npt.NDArray[np.int64]) -> "Rows":
        """The rows at these positions, in this order."""
        return Rows(self.table.take(pa.array(positions, pa.int64())))

    def save(self, path: Path) -> None:
        """Write them as an Arrow file."""
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, self.table.schema) as writer:
            writer.write_table(self.table)

    @classmethod
    def load(cls, path: Path) -> "Rows":
        """Read them back, memory-mapped."""
        with pa.memory_map(str(path), "rb") as source:
            return cls(pa.ipc.open_file(source).read_all())


def joined(parts: Sequence[Rows]) -> Rows:
    """All rows of several tables, one after the other."""
    return Rows(pa.concat_tables([part.table for part in parts]))


def content_keys(texts: Sequence[str], pairs: Sequence[str] | None = None) -> npt.NDArray[np.uint64]:
    """(rows, 2): blake2b of text and second text, as two 64-bit numbers. Equal texts have equal keys."""
    if pairs is None:
        digests = [content_key(text) for text in texts]
    else:
        digests = [content_key(text, pair) for text, pair in zip(texts, pairs, strict=True)]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


def content_key(text: str, pair: str | None = None) -> bytes:
    """The length goes in front of the text, so that ("ab", "c") and ("a", "bc") differ."""
    body = text.encode("utf-8", "surrogatepass")
    digest = blake2b(len(body).to_bytes(8, "little") + body, digest_size=KEY_BYTES)
    if pair is not None:
        digest.update(b"\x01" + pair.encode("utf-8", "surrogatepass"))
    return digest.digest()
