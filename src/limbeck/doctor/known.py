"""What the checks read: the recipe, and the artifacts of a run as far as they exist."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbeck.artifacts.chosen_rows import ChosenRows
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.transfer_text import TransferText
from limbeck.doctor.finding import Finding
from limbeck.doctor.tokens import StudentReading, TeacherReading
from limbeck.errors import LimbeckError
from limbeck.recipe.recipe import Recipe

NO_TEACHER = "the run has no teacher"


class NotThere(Exception):
    """A check needs a part that is not available; the text says why."""


class Stale(NotThere):
    """The part exists, but its inputs have been rebuilt since; the text says which."""


@dataclass(frozen=True)
class Asked:
    """A teacher's answers on dev rows."""

    name: str
    kind: str  # a row of limbeck.teacher.kinds
    rows: Rows  # labelled rows of dev
    logits: npt.NDArray[np.float32]  # (rows, classes)


@dataclass(frozen=True)
class AskedTwice:
    """How much a teacher's answers differ when it is asked twice, and from its stored answers."""

    name: str
    rows: int
    between: float  # the largest difference of a logit between the two answers
    from_kept: float | None  # between the first answer and the stored one; None if none is stored
    tolerance: float


@dataclass(frozen=True)
class Known:
    """The available parts by name, and why others are not available. Reading a part that is not available raises
    NotThere, which ends the check."""

    recipe: Recipe
    parts: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None  # of a run
    found: tuple[Finding, ...] = ()  # while the parts were loaded

    def part(self, name: str) -> Any:
        """The part of this name."""
        if self.parts.get(name) is None:
            raise NotThere(self.absent.get(name, "it does not exist yet"))
        return self.parts[name]

    def has(self, *names: str) -> bool:
        """Whether all these parts are available."""
        return all(self.parts.get(name) is not None for name in names)

    @property
    def corpus(self) -> Corpus:
        """The labelled rows."""
        corpus: Corpus = self.part("corpus")
        return corpus

    @property
    def transfer(self) -> TransferText:
        """The gathered text."""
        text: TransferText = self.part("transfer")
        return text

    @property
    def copies(self) -> TransferText:
        """The changed copies."""
        text: TransferText = self.part("copies")
        return text

    @property
    def chosen(self) -> ChosenRows:
        """The rows of both that the student was trained on, with numbers from the teacher's labels."""
        chosen: ChosenRows = self.part("chosen")
        return chosen

    @property
    def teacher(self) -> TeacherFolder:
        """The teacher of a run."""
        teacher: TeacherFolder = self.part("teacher")
        return teacher

    @property
    def asked(self) -> list[Asked]:
        """Each teacher's answers on dev rows."""
        asked: list[Asked] = self.part("asked")
        return asked

    @property
    def asked_twice(self) -> list[AskedTwice]:
        """The differences when each teacher is asked twice."""
        asked: list[AskedTwice] = self.part("asked_twice")
        return asked

    @property
    def teacher_readings(self) -> list[TeacherReading]:
        """How each teacher that is an encoder tokenizes texts."""
        readings: list[TeacherReading] = self.part("teacher_readings")
        return readings

    @property
    def student_reading(self) -> StudentReading:
        """How the student tokenizes texts."""
        reading: StudentReading = self.part("student_reading")
        return reading

    @property
    def teacher_parameters(self) -> int:
        """The number of the teacher's parameters."""
        parameters: int = self.part("teacher_parameters")
        return parameters

    @property
    def students(self) -> list[StudentFolder]:
        """The distilled students, one per seed."""
        students: list[StudentFolder] = self.part("students")
        return students

    @property
    def models(self) -> dict[str, ModelFolder]:
        """The shipped models by name."""
        models: dict[str, ModelFolder] = self.part("models")
        return models

    @property
    def report(self) -> dict[str, Any]:
        """The content of report.json."""
        report: dict[str, Any] = self.part("report")
        return report


@dataclass
class Collected:
    """Parts by name, why others are absent, and the errors met while loading them, as findings."""

    parts: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)  # of the absent: the reasons of those whose inputs were rebuilt
    found: list[Finding] = field(default_factory=list)

    def add(self, name: str, make: Callable[[], Any], *, check: str = "recipe") -> None:
        """Load a part. A user error that prevents it becomes a finding of this check."""
        try:
            self.parts[name] = make()
        except NotThere as reason:
            self.absent[name] = str(reason)
            self.stale += [str(reason)] if isinstance(reason, Stale) else []
        except LimbeckError as error:
            finding = refusal(check, error)
            self.absent[name] = finding.what
            if finding not in self.found:  # several parts may need the same thing
                self.found.append(finding)


def refusal(check: str, error: LimbeckError) -> Finding:
    """A user error as a finding, with the error's `found` lines as evidence."""
    return Finding(
        check, "error", error.what, " ".join(line.strip() for line in error.found.splitlines()), error.advice
    )
