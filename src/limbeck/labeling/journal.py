"""Answers that are paid one by one: each is on disk as soon as it is there, and many of them become a shard.

A file of this kind belongs to the process that holds its lock. Whoever finds one without a holder (its process was
killed) turns it into a shard. A record is a key, logits and a check sum; a torn last record is left out.
"""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4
from zlib import crc32

import numpy as np

from limbeck.artifacts.answers import Keys, Logits
from limbeck.artifacts.file_lock import FileIsLocked, lock
from limbeck.artifacts.rows import KEY_BYTES
from limbeck.labeling.store import LabelStore

ENDING = ".journal"
SUM_BYTES = 4
BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line ends in records


class Journal:
    """The answers of this process that are not in a shard yet."""

    def __init__(self, store: LabelStore, *, rows_per_shard: int) -> None:
        self._store, self._most = store, rows_per_shard
        self._file, self._path, self._rows = -1, Path(), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        self.finish()

    def add(self, key: Keys, logits: Logits) -> None:
        """One answer; it survives if this process is killed right after."""
        if self._file < 0:
            self._file, self._path = _new_file(self._store.folder)
        record = np.ascontiguousarray(key, dtype="<u8").tobytes() + np.ascontiguousarray(logits, dtype="<f4").tobytes()
        os.write(self._file, record + crc32(record).to_bytes(SUM_BYTES, "little"))
        self._rows += 1
        if self._rows >= self._most:
            self.finish()

    def finish(self) -> None:
        """Turn the file into a shard."""
        if self._file < 0:
            return
        _into_shard(self._path, self._store)
        os.close(self._file)
        self._file, self._rows = -1, 0


def recover_journals(store: LabelStore) -> int:
    """Turn what killed processes have left into shards; returns the number of answers."""
    return sum(_recovered(path, store) for path in sorted(store.folder.glob(f"*{ENDING}")))


def _recovered(path: Path, store: LabelStore) -> int:
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            lock(file.fileno(), path)
        except FileIsLocked:
            return 0  # another run is writing it
        if path.exists():
            return _into_shard(path, store)
    return 0


def _new_file(folder: Path) -> tuple[int, Path]:
    """A locked file: it gets its name only when it has its lock."""
    folder.mkdir(parents=True, exist_ok=True)
    name = uuid4().hex
    scratch = folder / f"{name}.new"
    file = os.open(scratch, os.O_CREAT | os.O_WRONLY | os.O_APPEND | BINARY, 0o666)
    lock(file, scratch)
    path = folder / f"{name}{ENDING}"
    scratch.replace(path)
    return file, path


def _into_shard(path: Path, store: LabelStore) -> int:
    """A shard is named by its content: if this is killed before the journal is removed, the same one comes again."""
    keys, logits = _read(path, classes=store.classes)
    if len(keys):
        store.write(keys, logits)
    path.unlink(missing_ok=True)
    return len(keys)


def _read(path: Path, *, classes: int) -> tuple[Keys, Logits]:
    size, content = KEY_BYTES + 4 * classes, path.read_bytes()
    keys, logits = [], []
    for start in range(0, len(content) - size - SUM_BYTES + 1, size + SUM_BYTES):
        record = content[start : start + size]
        if content[start + size : start + size + SUM_BYTES] != crc32(record).to_bytes(SUM_BYTES, "little"):
            break
        keys.append(np.frombuffer(record[:KEY_BYTES], dtype="<u8"))
        logits.append(np.frombuffer(record[KEY_BYTES:], dtype="<f4"))
    if not keys:
        return np.zeros((0, 2), dtype=np.uint64), np.zeros((0, classes), dtype=np.float32)
    return np.stack(keys).astype(np.uint64), np.stack(logits).astype(np.float32)
