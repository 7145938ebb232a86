"""The student's vocabulary as an artifact: tokenizer.json and the initial word vectors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.manifest import read_json, read_manifest

IS_GENERAL = "is_general"  # (words) 1 or 0: whether a vector is that of a general student
NO_OTHERS: Mapping[str, npt.NDArray[np.float32]] = {}


@dataclass(frozen=True)
class VocabularyFolder:
    """tokenizer.json, vocabulary.json, and vectors.npy unless vectors are initialised at random; for n-grams also
    word_weights.npy, and classifier.npy if the student starts from a fit; with a general student is_general.npy."""

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
        facts: dict[str, Any] = read_json(self.folder / "vocabulary.json")
        return facts

    def vectors(self) -> npt.NDArray[np.float32] | None:
        """(tokens, width), or None if they are initialised at random."""
        return self.array("vectors")

    def array(self, name: str) -> npt.NDArray[np.float32] | None:
        """Initial values from `<name>.npy`; None if they are initialised at random."""
        path = self.folder / f"{name}.npy"
        return np.load(path, allow_pickle=False) if path.is_file() else None


def save_vocabulary(
    folder: Path,
    *,
    vectors: npt.NDArray[np.float32] | None,
    facts: dict[str, Any],
    others: Mapping[str, npt.NDArray[np.float32]] = NO_OTHERS,
) -> None:
    """Write vectors.npy, `<name>.npy` of other initial values, and vocabulary.json into a scratch folder."""
    for name, array in {**({} if vectors is None else {"vectors": vectors}), **others}.items():
        np.save(folder / f"{name}.npy", np.asarray(array, dtype=np.float32), allow_pickle=False)
    (folder / "vocabulary.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), encoding="utf-8")
