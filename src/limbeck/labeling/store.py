"""The label store: a teacher's answers by text, kept permanently under the teacher's fingerprint.

One folder per teacher, with Arrow shards of (content key, logits), sorted by key; labels with features have a separate
folder next to it. A shard is written atomically and never changed; its name is a hash of its bytes, so that parallel
runs do not conflict and damage is noticed.
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
        # Labels with features can be used if only logits are needed, but not the other way round.
        with_features = [] if pooling else [root / f"{teacher}-{kind}" for kind in get_args(Pooling)]
        self._folders = [self.folder, *with_features]
        self._verified: set[Path] = set()

    def shards(self) -> list[Path]:
        """The current shards, in a fixed order; other runs may be adding more."""
        return [path for folder in self._folders for path in sorted(folder.glob("*.arrow"))]

    def open(self, shard: Path) -> AnswerTable | None:
        """The content of a shard, memory-mapped; None if it is damaged, and then its texts are asked again.

        Its bytes are compared with its name when it is opened for the first time.
        """
        try:
            if shard not in self._verified and file_digest(shard) != shard.stem:
                return None
            answers = AnswerTable.open(shard)
        except (pa.ArrowInvalid, FileNotFoundError, ValueError, KeyError):
            return None  # any other disk error does not mean that the shard is damaged, and is raised
        if answers.logits.shape[1] != self.classes or (self.pooling and answers.features is None):
            return None
        self._verified.add(shard)
        return answers

    def write(self, keys: Keys, logits: Logits, features: Features | None = None) -> None:
        """Write a shard."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = answers_in_bytes(keys, logits, features)
        name = blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
        scratch = self.folder / f"{name}.{uuid4().hex}.partial"  # another run may be writing the same shard just now
        try:
            scratch.write_bytes(content)
            scratch.replace(self.folder / f"{name}.arrow")
        finally:
            scratch.unlink(missing_ok=True)  # if the disk is full: a partial file must not take up space
