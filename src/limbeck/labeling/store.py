"""The label store: a teacher's answers by text, kept permanently under the teacher's fingerprint.

One folder per teacher, with Arrow shards of (content key, logits), sorted by key; labels with features have a separate
folder next to it. A shard is written atomically and never changed; its name is a hash of its bytes, so that parallel
runs do not conflict and damage is noticed. A store at an address is shared by machines: each keeps copies of the shards
that it reads or writes in a folder of its own, and a shard that is there for good is at the address, too.
"""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias, get_args
from uuid import uuid4

import pyarrow as pa

from limbeck.artifacts.answers import AnswerTable, Features, Keys, Logits, answers_in_bytes
from limbeck.artifacts.file_systems import RemoteFolder, without_keys
from limbeck.artifacts.manifest import DIGEST_BYTES, file_digest
from limbeck.labeling.source import Pooling

SHARD = ".arrow"


@dataclass(frozen=True)
class SharedStore:
    """A label store at an address of pyarrow's file systems."""

    address: str
    folder: Path  # of this machine: copies of shards, the index, and journals of answers that are paid for

    def __str__(self) -> str:
        return self.address


Root: TypeAlias = Path | SharedStore  # of the stores of all teachers


def local_part(root: Root) -> Path:
    """The folder of this machine."""
    return root.folder if isinstance(root, SharedStore) else root


class LabelStore:
    """The labels of one teacher. Nothing is read before a shard is opened."""

    def __init__(self, root: Root, *, teacher: str, classes: int, pooling: Pooling | None = None) -> None:
        self.classes = classes
        self.pooling = pooling
        local = local_part(root)
        self.folder = local / (f"{teacher}-{pooling}" if pooling else teacher)
        # Labels with features can be used if only logits are needed, but not the other way round.
        with_features = [] if pooling else [local / f"{teacher}-{kind}" for kind in get_args(Pooling)]
        self._folders = [self.folder, *with_features]
        shared = RemoteFolder(root.address) if isinstance(root, SharedStore) else None
        self._remote = {folder: shared.inner(folder.name) for folder in self._folders} if shared else {}
        self._verified: set[Path] = set()

    @property
    def remote(self) -> RemoteFolder | None:
        """Where new shards of a shared store are."""
        return self._remote.get(self.folder)

    @property
    def place(self) -> str:
        """The folder, or address, for people."""
        return without_keys(self.remote.address) if self.remote else str(self.folder)

    def shards(self) -> list[Path]:
        """The current shards, in a fixed order; other runs may be adding more. Those of a shared store that this
        machine has no copy of are copied when they are opened."""
        return [folder / name for folder in self._folders for name in sorted(self._names(folder))]

    def bytes_of(self, shards: list[Path]) -> int:
        """The size of these shards together."""
        sizes = {folder / name: size for folder in self._folders for name, size in self._names(folder).items()}
        return sum(sizes.get(shard, 0) for shard in shards)

    def _names(self, folder: Path) -> dict[str, int]:
        remote = self._remote.get(folder)
        if remote is None:
            return {path.name: path.stat().st_size for path in folder.glob(f"*{SHARD}")}
        return {name: size for name, size in remote.files().items() if name.endswith(SHARD) and "/" not in name}

    def open(self, shard: Path) -> AnswerTable | None:
        """The content of a shard, memory-mapped; None if it is damaged, and then its texts are asked again.

        Its bytes are compared with its name when it is opened for the first time.
        """
        try:
            if shard not in self._verified and not self._is_sound(shard):
                return None
            answers = AnswerTable.open(shard)
        except (pa.ArrowInvalid, FileNotFoundError, ValueError, KeyError):
            return None  # any other disk error does not mean that the shard is damaged, and is raised
        if answers.logits.shape[1] != self.classes or (self.pooling and answers.features is None):
            return None
        self._verified.add(shard)
        return answers

    def _is_sound(self, shard: Path) -> bool:
        remote = self._remote.get(shard.parent)
        if remote is None:
            return file_digest(shard) == shard.stem
        if shard.exists() and file_digest(shard) == shard.stem:
            return True
        remote.fetch(shard.name, shard)  # a copy that is damaged is made again
        return file_digest(shard) == shard.stem

    def write(self, keys: Keys, logits: Logits, features: Features | None = None) -> None:
        """Write a shard; in a shared store it is at the address when this returns."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = answers_in_bytes(keys, logits, features)
        name = blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
        scratch = self.folder / f"{name}.{uuid4().hex}.partial"  # another run may be writing the same shard just now
        try:
            scratch.write_bytes(content)
            scratch.replace(self.folder / f"{name}{SHARD}")
        finally:
            scratch.unlink(missing_ok=True)  # if the disk is full: a partial file must not take up space
        if self.remote:
            self.remote.write(f"{name}{SHARD}", content)

    def remove(self, shard: Path) -> None:
        """Remove a damaged shard, so that nobody reads it again."""
        shard.unlink(missing_ok=True)
        if remote := self._remote.get(shard.parent):
            remote.remove(shard.name)
