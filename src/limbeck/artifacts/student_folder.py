"""A trained student as an artifact: a Hugging Face folder with tokenizer, training history and facts."""

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from limbeck.artifacts.manifest import read_facts, read_json, read_manifest
from limbeck.tasks import Task, task_of

LOSSES = "losses.json"


@dataclass(frozen=True)
class StudentFacts:
    """What export and report need to know about a student."""

    name: str  # the variant: "bilstm", or "bilstm-alone" for the baseline
    kind: str
    role: str  # "student" or "baseline"
    seed: int
    labels: list[str]
    language: str
    pair: bool
    max_length: int
    parameters: int
    parameters_without_embeddings: int
    best_epoch: int
    dev_accuracy: float | None  # None: it gives scores
    multi_label: bool = False  # whether a row may have several labels
    dev_score: float | None = None  # what the best epoch and seed are chosen by, if not the accuracy
    dev_measure: Literal["accuracy", "macro F1", "Spearman"] | None = (
        None  # what dev_score is; None: an older version wrote it
    )
    near_chance: str = ""  # why it hardly does better on dev than guessing; empty if it does
    attempts: list[dict[str, Any]] = field(default_factory=list)  # if it was trained again: rate and dev of each
    tokenizer: Literal["words", "framed"] = "words"  # StudentTokenizer, or FramedTokenizer, which adds special tokens
    scale: dict[str, Any] | None = None  # of its scores: limbeck.artifacts.score_scale; None: it gives labels
    sparsity: float | None = None  # the share of zeros in its matrices; None: it was not pruned
    transductive: dict[str, float] | None = None  # accuracy by split inside a graph of all texts; None: reads new texts

    @property
    def task(self) -> Task:
        """What it gives a row: one label, several, or a score."""
        return task_of(multi_label=self.multi_label, is_score=self.scale is not None)

    @property
    def chosen_by(self) -> float:
        """What the best seed is chosen by: the dev score, which is the accuracy, macro F1 or a correlation."""
        return (self.dev_accuracy or 0.0) if self.dev_score is None else self.dev_score


@dataclass(frozen=True)
class StudentFolder:
    """config.json, model.safetensors, tokenizer.json and tokenizer_config.json, student.json, history.json, and
    losses.json: for each training stage the curve of every term of its objective."""

    folder: Path

    @property
    def fingerprint(self) -> str:
        """Of its contents."""
        return read_manifest(self.folder, kind="student").fingerprint

    @cached_property
    def facts(self) -> StudentFacts:
        """The content of student.json."""
        return read_facts(StudentFacts, self.folder / "student.json")

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """One entry per epoch: epoch, loss, dev_accuracy (scores: dev_spearman), dev_loss, and the losses by kind."""
        history: list[dict[str, Any]] = read_json(self.folder / "history.json")
        return history

    @cached_property
    def points(self) -> list[list[dict[str, float]]]:
        """For each training stage, the points of its curves: the step, and every loss over the steps up to it."""
        points: list[list[dict[str, float]]] = read_json(self.folder / LOSSES)
        return points


def save_student_facts(folder: Path, facts: StudentFacts, *, history: list[dict[str, Any]]) -> None:
    """Write student.json and history.json into a scratch folder."""
    optional = ("scale", "transductive", "sparsity")
    known = {name: value for name, value in asdict(facts).items() if name not in optional or value is not None}
    (folder / "student.json").write_text(json.dumps(known, indent=1, ensure_ascii=False), encoding="utf-8")
    (folder / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")
