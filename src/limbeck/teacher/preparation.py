"""What every kind of teacher is prepared from, its interface once it is open, and its accuracy on dev."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import Reporter
from limbeck.training.skill import judged, rows_of_others, skill
from limbeck.training.tracks import NO_TRACKS, Tracks

Logits = npt.NDArray[np.float32]

NOT_JUDGED = {"dev_accuracy": None, "dev_skill": None, "dev_rows": 0}


class OpenTeacher(Protocol):
    """A teacher that is open for inference."""

    def logits(self, texts: Any, pairs: Any, *, tokens_per_batch: Any = None, bar: Any = None) -> Logits:
        """(rows, classes); NaN for rows without an answer."""


class AskAndKeep(Protocol):
    """Asks a teacher through the label store: earlier answers are taken from it, new ones are stored in it."""

    def __call__(self, teacher: OpenTeacher, *, name: str, fingerprint: str, rows: Rows) -> Logits:
        """(rows, classes)"""


def ask_alone(teacher: OpenTeacher, *, name: str, fingerprint: str, rows: Rows) -> Logits:
    """The answers, without the label store."""
    del name, fingerprint
    return teacher.logits(rows.texts, rows.pairs)


@dataclass(frozen=True)
class Preparation:
    """What a teacher is prepared from in addition to its section, and where it is written."""

    corpus: Corpus
    out: Path
    key: Key
    reporter: Reporter
    tracks: Tracks = NO_TRACKS
    pretrained: Path | None = None
    """The folder of an encoder's pretrained checkpoint, if it was pretrained."""
    members: Mapping[str, TeacherFolder] = field(default_factory=dict)
    """Of an ensemble, by name and in order."""
    ask: AskAndKeep = ask_alone


@dataclass(frozen=True)
class BeforeRun:
    """What the doctor has to check a teacher before a run."""

    corpus: Corpus
    scratch: Path  # a folder for this teacher alone, which does not exist yet
    find_checkpoint: Callable[[str], Path]  # downloads nothing
    reporter: Reporter


@dataclass(frozen=True)
class ReadyTeacher:
    """A teacher that needs no training, opened before a run."""

    name: str
    answering: OpenTeacher
    precision: str = "fp32"


def dev_facts(logits: Logits, rows: Rows) -> dict[str, Any]:
    """The facts of teacher.json about dev, from labelled dev rows and the teacher's logits of them."""
    if not len(rows):
        return dict(NOT_JUDGED)
    found = judged(logits, rows.labels)
    return {
        "dev_accuracy": found.get("dev_accuracy"),
        **({"dev_spearman": found["dev_spearman"]} if "dev_spearman" in found else {}),
        "dev_skill": skill(logits, rows.labels),
        "dev_rows": len(rows),
        "dev_others": rows_of_others(rows.labels),
    }


def scale_fact(corpus: Corpus) -> dict[str, Any] | None:
    """The scale of the corpus's scores for teacher.json; None for classes."""
    return None if corpus.scale is None else corpus.scale.as_json()


def labelled(rows: Rows) -> Rows:
    """The rows that have a label."""
    return rows.select(np.flatnonzero(rows.is_labelled))
