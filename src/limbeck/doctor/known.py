"""What is known of a recipe or a run: its recipe, and the artifacts that are there."""

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


class NotThere(Exception):
    """A check asked for something that is not there; its text says why."""


class Stale(NotThere):
    """It is there, but was made from something that has been made anew since; its text says what."""


@dataclass(frozen=True)
class Asked:
    """What a teacher said of dev rows."""

    name: str
    kind: str  # a row of limbeck.teacher.kinds
    rows: Rows  # of dev, with a label
    logits: npt.NDArray[np.float32]  # (rows, classes)


@dataclass(frozen=True)
class AskedTwice:
    """How far apart the answers of a teacher are when it is asked the same twice, and from those that were kept."""

    name: str
    rows: int
    between: float  # the largest difference of a logit between the two answers
    from_kept: float | None  # between the first of them and the kept label; None where none was kept
    tolerance: float


@dataclass(frozen=True)
class Known:
    """The parts that are there, by name, and why the others are not. Asking for a part that is not there raises
    NotThere, which ends a check."""

    recipe: Recipe
    parts: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None  # of a run
    found: tuple[Finding, ...] = ()  # while the parts were looked for

    def part(self, name: str) -> Any:
        """The part of this name."""
        if self.parts.get(name) is None:
            raise NotThere(self.absent.get(name, "it is not there yet"))
        return self.parts[name]

    def has(self, *names: str) -> bool:
        """Whether all these parts are there."""
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
        """What of both the student learned from, with what the teacher said of it."""
        chosen: ChosenRows = self.part("chosen")
        return chosen

    @property
    def teacher(self) -> TeacherFolder:
        """The teacher of a run."""
        teacher: TeacherFolder = self.part("teacher")
        return teacher

    @property
    def asked(self) -> list[Asked]:
        """What each teacher said of dev rows."""
        asked: list[Asked] = self.part("asked")
        return asked

    @property
    def asked_twice(self) -> list[AskedTwice]:
        """What came of asking each teacher twice."""
        asked: list[AskedTwice] = self.part("asked_twice")
        return asked

    @property
    def teacher_readings(self) -> list[TeacherReading]:
        """How each teacher that is an encoder cuts texts into tokens."""
        readings: list[TeacherReading] = self.part("teacher_readings")
        return readings

    @property
    def student_reading(self) -> StudentReading:
        """How the student does."""
        reading: StudentReading = self.part("student_reading")
        return reading

    @property
    def teacher_parameters(self) -> int:
        """How large the teacher is."""
        parameters: int = self.part("teacher_parameters")
        return parameters

    @property
    def students(self) -> list[StudentFolder]:
        """The distilled students, one for each seed."""
        students: list[StudentFolder] = self.part("students")
        return students

    @property
    def models(self) -> dict[str, ModelFolder]:
        """The models that ship, by name."""
        models: dict[str, ModelFolder] = self.part("models")
        return models

    @property
    def report(self) -> dict[str, Any]:
        """What stands in report.json."""
        report: dict[str, Any] = self.part("report")
        return report


@dataclass
class Collected:
    """Parts by name; why others are absent; and what was refused on the way, which is a finding by itself."""

    parts: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)  # of the absent: why those are left out that belong to others
    found: list[Finding] = field(default_factory=list)

    def add(self, name: str, make: Callable[[], Any], *, check: str = "recipe") -> None:
        """Make a part. A mistake of the user's that stops it becomes a finding of this check."""
        try:
            self.parts[name] = make()
        except NotThere as reason:
            self.absent[name] = str(reason)
            self.stale += [str(reason)] if isinstance(reason, Stale) else []
        except LimbeckError as error:
            finding = refusal(check, error)
            self.absent[name] = finding.what
            if finding not in self.found:  # several parts may ask for the same thing
                self.found.append(finding)


def refusal(check: str, error: LimbeckError) -> Finding:
    """An error as a finding, with what was found as its evidence."""
    return Finding(
        check, "error", error.what, " ".join(line.strip() for line in error.found.splitlines()), error.advice
    )
