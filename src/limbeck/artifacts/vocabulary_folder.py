"""The student's vocabulary as an artifact: tokenizer.json and the initial word vectors."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.manifest import read_manifest

VECTORS = "vectors.npy"


@dataclass(frozen=True)
class VocabularyFolder:
    """tokenizer.json, vocabulary.json, and vectors.npy unless vectors are initialised at random."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="vocabulary").fingerprint

    @property
    def tokenizer(self) -> Path:
        """The tokenizer, for training and for serving."""
        return self.folder / "tokenizer.json"

    @property
    def facts(self) -> dict[str, Any]:
        """The content of vocabulary.json: size, width, where the vectors come from, how many words had one."""
        facts: dict[str, Any] = json.loads((self.folder / "vocabulary.json").read_text(encoding="utf-8"))
        return facts

    def vectors(self) -> npt.NDArray[np.float32] | None:
        """(tokens, width), or None if they are initialised at random."""
        path = self.folder / VECTORS
        return np.load(path, allow_pickle=False) if path.is_file() else None


def save_vocabulary(folder: Path, *, vectors: npt.NDArray[np.float32] | None, facts: dict[str, Any]) -> None:
    """Write vectors.npy and vocabulary.json into a scratch folder."""
    if vectors is not None:
        np.save(folder / VECTORS, np.asarray(vectors, dtype=np.float32), allow_pickle=False)
    (folder / "vocabulary.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
