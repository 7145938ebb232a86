"""What every kind of teacher is prepared from, what it is once it can be asked, and how well it does on dev."""

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
from limbeck.training.skill import judged, skill
from limbeck.training.tracks import NO_TRACKS, Tracks

Logits = npt.NDArray[np.float32]

NOT_JUDGED = {"dev_accuracy": None, "dev_skill": None, "dev_rows": 0}


class OpenTeacher(Protocol):
    """A teacher that can be asked."""

    def logits(self, texts: Any, pairs: Any, *, tokens_per_batch: Any = None, bar: Any = None) -> Logits:
        """(rows, classes); NaN where it has no answer."""


class AskAndKeep(Protocol):
    """Asks a teacher by way of the label store: what was answered before is found there, what is answered is kept."""

    def __call__(self, teacher: OpenTeacher, *, name: str, fingerprint: str, rows: Rows) -> Logits:
        """(rows, classes)"""


def ask_alone(teacher: OpenTeacher, *, name: str, fingerprint: str, rows: Rows) -> Logits:
    """The answers, kept nowhere."""
    del name, fingerprint
    return teacher.logits(rows.texts, rows.pairs)


@dataclass(frozen=True)
class Preparation:
    """What a teacher is made from besides its section, and where it goes."""

    corpus: Corpus
    out: Path
    key: Key
    reporter: Reporter
    tracks: Tracks = NO_TRACKS
    pretrained: Path | None = None
    """The folder of an encoder's checkpoint after it was pretrained, where it was."""
    members: Mapping[str, TeacherFolder] = field(default_factory=dict)
    """Of an ensemble, by name and in order."""
    ask: AskAndKeep = ask_alone


@dataclass(frozen=True)
class BeforeRun:
    """What there is for the doctor to look at a teacher with, before anything is made."""

    corpus: Corpus
    scratch: Path  # a folder for this teacher alone, not there yet
    find_checkpoint: Callable[[str], Path]  # fetches nothing
    reporter: Reporter


@dataclass(frozen=True)
class ReadyTeacher:
    """A teacher that needs no training, opened before a run."""

    name: str
    answering: OpenTeacher
    precision: str = "fp32"


def dev_facts(logits: Logits, rows: Rows) -> dict[str, Any]:
    """The facts of teacher.json about dev rows that have a label, and these answers."""
    if not len(rows):
        return dict(NOT_JUDGED)
    accuracy = judged(logits, rows.labels)["dev_accuracy"]
    return {"dev_accuracy": accuracy, "dev_skill": skill(logits, rows.labels), "dev_rows": len(rows)}


def labelled(rows: Rows) -> Rows:
    """Those that have a label."""
    return rows.select(np.flatnonzero(rows.is_labelled))
