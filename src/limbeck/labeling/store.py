"""The label store: what a teacher said about a text, kept for ever under the teacher's fingerprint.

One folder per teacher, in it Arrow shards of (content key, logits), sorted by key; labels with features have a folder
of their own beside it. A shard is written whole and never changed; its name is a hash of its bytes, so that runs side
by side cannot get in each other's way and damage is noticed.
"""

from hashlib import blake2b
from pathlib import Path
from typing import get_args
from uuid import uuid4

import pyarrow as pa

from limbeck.artifacts.answers import AnswerTable, Features, Keys, Logits, answers_in_bytes
from limbeck.artifacts.manifest import DIGEST_BYTES, file_digest
from limbeck.labeling.source import Pooling


class LabelStore:
    """The labels of one teacher. Nothing is read before a shard is opened."""

    def __init__(self, root: Path, *, teacher: str, classes: int, pooling: Pooling | None = None) -> None:
        self.folder = root / (f"{teacher}-{pooling}" if pooling else teacher)
        self.classes = classes
        self.pooling = pooling
        # Labels that were asked with features will do where only logits are wanted, but not the other way round.
        beside = [] if pooling else [root / f"{teacher}-{kind}" for kind in get_args(Pooling)]
        self._folders = [self.folder, *beside]
        self._sound: set[Path] = set()

    def shards(self) -> list[Path]:
        """The shards there are now, in a fixed order; other runs may be adding to them."""
        return [path for folder in self._folders for path in sorted(folder.glob("*.arrow"))]

    def open(self, shard: Path) -> AnswerTable | None:
        """What a shard holds, memory-mapped; None for one that is damaged, which then counts as never asked.

        Its bytes are compared with its name when it is opened for the first time.
        """
        try:
            if shard not in self._sound and file_digest(shard) != shard.stem:
                return None
            answers = AnswerTable.open(shard)
        except (pa.ArrowInvalid, FileNotFoundError, ValueError, KeyError):
            return None  # any other trouble with the disk says nothing about what stands on it, and is raised
        if answers.logits.shape[1] != self.classes or (self.pooling and answers.features is None):
            return None
        self._sound.add(shard)
        return answers

    def write(self, keys: Keys, logits: Logits, features: Features | None = None) -> None:
        """Keep a shard on disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = answers_in_bytes(keys, logits, features)
        name = blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
        scratch = self.folder / f"{name}.{uuid4().hex}.partial"  # another run may be writing the same shard just now
        try:
            scratch.write_bytes(content)
            scratch.rename(self.folder / f"{name}.arrow")
        finally:
            scratch.unlink(missing_ok=True)  # on a full disk: what was written of it must not fill it further
