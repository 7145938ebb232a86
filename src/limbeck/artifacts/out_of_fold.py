"""Out-of-fold answers as an artifact: for every labelled row those of models that have not trained on it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from limbeck.artifacts.teacher_labels import TeacherLabels


@dataclass(frozen=True)
class OutOfFold:
    """`labels.arrow` (id, logits) and labels.json: parts, which models answered, and how often they agree with the
    labels of train."""

    folder: Path

    @cached_property
    def answers(self) -> TeacherLabels:
        """The logits, by row id."""
        return TeacherLabels(self.folder)

    @property
    def facts(self) -> dict[str, Any]:
        """The content of labels.json."""
        return self.answers.facts
