"""The label store: what a teacher said about a text, kept for ever under the teacher's fingerprint.

One folder per teacher, in it Arrow shards of (content key, logits). A shard is written whole and never changed;
its name is a hash of its bytes, so that runs side by side cannot get in each other's way and damage is noticed.
"""

from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.manifest import DIGEST_BYTES, file_digest
from limbeck.artifacts.rows import KEY_BYTES

Keys = npt.NDArray[np.uint64]  # (rows, 2), as limbeck.artifacts.rows.content_keys gives them
Logits = npt.NDArray[np.float32]  # (rows, classes)


class LabelStore:
    """The labels of one teacher."""

    def __init__(self, root: Path, *, teacher: str, classes: int) -> None:
        self.folder = root / teacher
        self.classes = classes
        shards = {path: _read_shard(path, classes) for path in sorted(self.folder.glob("*.arrow"))}
        whole = [shard for shard in shards.values() if shard is not None]
        self.damaged = [path for path, shard in shards.items() if shard is None]
        self._keys = np.concatenate([keys for keys, _ in whole]) if whole else np.zeros((0, 2), dtype=np.uint64)
        self._logits = (
            np.concatenate([logits for _, logits in whole]) if whole else np.zeros((0, classes), dtype=np.float32)
        )
        self._order = np.lexsort((self._keys[:, 1], self._keys[:, 0]))
        self._first = self._keys[self._order, 0]

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Position in the store of every key, -1 where the teacher has not been asked yet."""
        found = np.full(len(keys), -1, dtype=np.int64)
        places = np.searchsorted(self._first, keys[:, 0])
        pending = np.arange(len(keys))
        while len(pending):  # more than one turn only where two texts share the first 64 bits of their keys
            pending = pending[places[pending] < len(self._first)]
            candidates = self._order[places[pending]]
            same_first = self._keys[candidates, 0] == keys[pending, 0]
            same = same_first & (self._keys[candidates, 1] == keys[pending, 1])
            found[pending[same]] = candidates[same]
            pending = pending[same_first & ~same]
            places[pending] += 1
        return found

    def logits(self, positions: npt.NDArray[np.int64]) -> Logits:
        """(positions, classes)."""
        return np.asarray(self._logits[positions], dtype=np.float32)

    def write(self, keys: Keys, logits: Logits) -> None:
        """Keep a shard on disk; it is found by stores opened from now on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        column = pa.FixedSizeListArray.from_arrays(pa.array(logits.reshape(-1)), self.classes)
        binary = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(KEY_BYTES), len(keys), [None, pa.py_buffer(np.ascontiguousarray(keys).tobytes())]
        )
        table = pa.table({"key": binary, "logits": column})
        with pa.BufferOutputStream() as sink:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            content = sink.getvalue().to_pybytes()
        name = blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
        scratch = self.folder / f"{name}.{uuid4().hex}.partial"  # another run may be writing the same shard just now
        try:
            scratch.write_bytes(content)
            scratch.rename(self.folder / f"{name}.arrow")
        finally:
            scratch.unlink(missing_ok=True)  # on a full disk: what was written of it must not fill it further


def _read_shard(path: Path, classes: int) -> tuple[Keys, Logits] | None:
    """Keys and logits of a shard; None for one that is damaged, which then counts as never asked."""
    try:
        if file_digest(path) != path.stem:
            return None
        with pa.memory_map(str(path), "rb") as source:
            table = pa.ipc.open_file(source).read_all().combine_chunks()
        binary = table["key"].combine_chunks()
        buffer = binary.buffers()[1]
        keys = np.frombuffer(buffer, dtype="<u8", count=2 * len(binary)).reshape(-1, 2)
        logits = np.asarray(table["logits"].combine_chunks().flatten().to_numpy(), dtype=np.float32)
        return keys, logits.reshape(-1, classes)
    except (pa.ArrowInvalid, OSError, ValueError, KeyError):
        return None
