"""Conformance vectors: rows with the tokens and logits that a model gives for them, to check other readers by."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.manifest import read_manifest, read_small_json
from limbeck.artifacts.model_folder import ModelFacts, ModelFolder, open_model
from limbeck.errors import LimbeckError
from limbeck.packaging.vector_rows import vector_rows
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.inputs import Inputs, inputs_of
from limbeck.runtime.row import Row
from limbeck.text.student_tokenizer import SPECIAL_TOKENS, StudentTokenizer

FORMAT, ROWS, SEED = 1, 1_000, 0
MOST_BYTES = 1 << 27
MOST_WORDS = 4_000  # of the vocabulary that rows are drawn from: the frequent ones come first
DIGITS = 7  # of a logit
# How far a logit may be from that of Python's onnxruntime. Activations of int8 LSTMs and transformers are rounded to 8
# bits: where two readers' floats differ in the last digit, a rounded one differs by a step.
TOLERANCES = {"fp32": 1e-3, "int8": 0.1}
MOST_OTHER_LABELS = 0.005  # share of the rows
KEYS = {"format", "model", "seed", "labels", "tolerance", "rows"}


class VectorsUnusable(LimbeckError):
    """A file holds no conformance vectors, or those of another model."""

    def __init__(self, *, path: Path, reason: str) -> None:
        advice = "Write those of the model: limbeck vectors MODEL -o vectors.json."
        super().__init__(f"'{path}' cannot be used as the model's conformance vectors", found=reason, advice=advice)


@dataclass(frozen=True)
class Conformance:
    """What a reader gave for the rows of vectors."""

    rows: int
    other_tokens: int
    other_labels: int
    largest_difference: float  # of a logit, among rows with the same tokens
    tolerance: float

    @property
    def conforms(self) -> bool:
        """All tokens the same, nearly all labels, and logits within the tolerance."""
        few = self.other_labels <= MOST_OTHER_LABELS * self.rows
        return not self.other_tokens and few and self.largest_difference <= self.tolerance

    def to_json(self) -> dict[str, Any]:
        """For files and other programs."""
        return {**asdict(self), "conforms": self.conforms}


def make_vectors(folder: Path, *, rows: int = ROWS, seed: int = SEED) -> dict[str, Any]:
    """The vectors of a model: each row by itself, as onnxruntime answers it."""
    model = open_model(folder)
    facts = model.facts()
    readers = _readers(model, facts)
    words = _words(readers)
    drawn = vector_rows(words, pair=facts.pair, language=facts.language, count=rows, seed=seed)
    classifier = Classifier(model, threads=1, engine="onnx")
    return {
        "format": FORMAT,
        "model": read_manifest(folder, kind="model").fingerprint,
        "seed": seed,
        "labels": facts.labels,
        "tolerance": tolerance_of(model, facts),
        "rows": [
            {"row": row, "tokens": tokens_of(readers, row), "logits": _short(classifier.logits([row])[0].tolist())}
            for row in drawn
        ],
    }


def write_vectors(vectors: dict[str, Any], path: Path) -> None:
    """As JSON in ASCII, for halves of characters are among the texts; one row per line."""
    head = json.dumps({name: value for name, value in vectors.items() if name != "rows"})
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in vectors["rows"])
    path.write_text(f'{head[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="ascii")


def read_vectors(path: Path, *, folder: Path) -> dict[str, Any]:
    """The vectors in this file. Raises VectorsUnusable if they are not those of the model in the folder."""
    try:
        found = read_small_json(path, most_bytes=MOST_BYTES)
    except (OSError, ValueError) as error:
        raise VectorsUnusable(path=path, reason=str(error)) from error
    if not isinstance(found, dict) or set(found) != KEYS or found["format"] != FORMAT:
        raise VectorsUnusable(path=path, reason=f"it has no vectors of format {FORMAT}")
    fingerprint = read_manifest(folder, kind="model").fingerprint
    if found["model"] != fingerprint:
        raise VectorsUnusable(path=path, reason=f"they are those of the model {found['model']}, this is {fingerprint}")
    return found


def check_vectors(
    vectors: dict[str, Any], folder: Path, *, engine: EngineChoice = "auto", threads: int = 1
) -> Conformance:
    """What this machine gives for the rows, one at a time."""
    model = open_model(folder)
    facts = model.facts()
    readers, classifier = _readers(model, facts), Classifier(model, threads=threads, engine=engine)
    other_tokens = other_labels = 0
    largest = 0.0
    for vector in vectors["rows"]:
        row: Row = tuple(vector["row"]) if facts.pair else vector["row"]
        if tokens_of(readers, row) != vector["tokens"]:
            other_tokens += 1
            continue
        logits, wanted = classifier.logits([row])[0], np.array(vector["logits"])
        largest = max(largest, float(np.abs(logits - wanted).max()))
        other_labels += decision(logits.tolist(), facts) != decision(wanted.tolist(), facts)
    return Conformance(len(vectors["rows"]), other_tokens, other_labels, largest, vectors["tolerance"])


def decision(logits: Sequence[float], facts: ModelFacts) -> list[int]:
    """The place of the most probable label; with several labels per row, of all that apply."""
    if facts.multi_label:
        return [place for place, logit in enumerate(logits) if logit >= 0]
    return [max(range(len(logits)), key=logits.__getitem__)]


def tolerance_of(model: ModelFolder, facts: ModelFacts) -> float:
    """Of the logits; a blend has that of its least exact member, at the member's temperature."""
    if not facts.members:
        return TOLERANCES[facts.precision]
    each = [(member.weight, model.member(member).facts()) for member in facts.members]
    return round(sum(weight * TOLERANCES[its.precision] / its.temperature for weight, its in each), 6)


def tokens_of(readers: Sequence[Inputs], row: Row) -> list[list[list[int]]]:
    """For each network of the model (a blend has several) its columns of numbers: see docs/format.md."""
    return [[[*map(int, column[0])] for column in reader.encode([row])] for reader in readers]


def _readers(model: ModelFolder, facts: ModelFacts) -> list[Inputs]:
    if not facts.members:
        return [inputs_of(model, facts)]
    folders = [model.member(member) for member in facts.members]
    return [inputs_of(folder, folder.facts()) for folder in folders]


def _words(readers: Sequence[Inputs]) -> list[str]:
    """Of the first vocabulary that has words; buckets of n-grams are none."""
    for reader in readers:
        tokenizer: Any = getattr(reader, "tokenizer", None)
        if isinstance(tokenizer, StudentTokenizer) and tokenizer.ngrams is not None:
            continue
        return [word for word in tokenizer.vocabulary if word and word not in SPECIAL_TOKENS][:MOST_WORDS]
    return []


def _short(logits: Sequence[float]) -> list[float]:
    return [float(f"{logit:.{DIGITS}g}") for logit in logits]
