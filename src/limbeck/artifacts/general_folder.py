"""A general student as an artifact: words with their vectors and a body, or a transformer; what it learned from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.manifest import faults_of, read_facts, read_manifest
from limbeck.text.student_tokenizer import StudentTokenizer

WEIGHTS, TOKENIZER, FACTS = "model.safetensors", "tokenizer.json", "general.json"
TABLE, SCALES = "embeddings.weight", "embeddings.scale"
HEAD = ("classifier.", "dense.")  # a task has a head of its own
ADVICE = "Make it with `limbeck pretrain`, or name another one in student.start."
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class GeneralFacts:
    """What general.json holds."""

    name: str
    kind: str  # of student
    shape: Mapping[str, Any]  # the settings of its network
    language: str
    width: int  # of its vectors of words
    words: int  # of a transformer: rows of its table of tokens
    sentences: int  # of a transformer: windows
    encoders: list[dict[str, Any]]  # name, fingerprint, width; cosine: how near the student comes; or layers
    settings: Mapping[str, Any] = field(default_factory=dict)  # also steps and speed of a transformer
    text: Mapping[str, Any] = field(default_factory=dict)  # files, and what was dropped of them
    history: list[dict[str, Any]] = field(default_factory=list)
    minutes: float = 0.0
    machine: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GeneralFolder:
    """model.safetensors (with config.json unless its table is int8), tokenizer.json, general.json, and README.md.

    `vocabulary`, `vectors` and `body` are those of a student of words.
    """

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="general", advice=ADVICE).fingerprint

    @property
    def facts(self) -> GeneralFacts:
        """What is known about it."""
        read_manifest(self.folder, kind="general", advice=ADVICE)
        return read_facts(GeneralFacts, self.folder / FACTS)

    def faults(self) -> list[str]:
        """What is wrong with its files, by the manifest."""
        return faults_of(self.folder, read_manifest(self.folder, kind="general", advice=ADVICE))

    @property
    def vocabulary(self) -> list[str]:
        """Its words, the special tokens first, then the most frequent ones."""
        return StudentTokenizer.from_json((self.folder / TOKENIZER).read_text(encoding="utf-8")).vocabulary

    def vectors(self) -> Floats:
        """(words, width)"""
        tensors = self._tensors()
        table = tensors[TABLE].astype(np.float32)
        return table * tensors[SCALES].astype(np.float32)[:, None] if SCALES in tensors else table

    def body(self) -> dict[str, Floats]:
        """All weights but those of the table and of a head, by their names in the network."""
        return {
            name: tensor.astype(np.float32)
            for name, tensor in self._tensors().items()
            if name not in (TABLE, SCALES) and not name.startswith(HEAD)
        }

    def _tensors(self) -> dict[str, npt.NDArray[Any]]:
        from safetensors.numpy import load_file

        found: dict[str, npt.NDArray[Any]] = load_file(str(self.folder / WEIGHTS))
        return found


def save_general(scratch: Path, weights: Mapping[str, Floats], facts: GeneralFacts, *, table: str) -> None:
    """Write model.safetensors and general.json. The table "int8" has a scale for each word: vectors = table · scale."""
    from safetensors.numpy import save_file

    tensors: dict[str, npt.NDArray[Any]] = {name: tensor.astype(np.float16) for name, tensor in weights.items()}
    if table == "int8":
        scales = (np.abs(weights[TABLE]).max(axis=1) / 127).astype(np.float16)
        scales[scales == 0] = 1.0  # padding, whose vector is zero
        tensors[TABLE] = np.rint(weights[TABLE] / scales.astype(np.float32)[:, None]).clip(-127, 127).astype(np.int8)
        tensors[SCALES] = scales
    save_file(
        {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
        str(scratch / WEIGHTS),
        metadata={"format": "pt"},
    )
    save_general_facts(scratch, facts)


def save_general_facts(scratch: Path, facts: GeneralFacts) -> None:
    """Write general.json; a transformer's weights and tokenizer are in the folder in Hugging Face's form."""
    written = json.dumps(asdict(facts), indent=1, ensure_ascii=False)
    (scratch / FACTS).write_text(written, encoding="utf-8")
