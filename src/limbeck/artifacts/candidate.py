"""What a report is about besides the teacher: students and baselines, each in one precision, once per seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from limbeck.artifacts.manifest import file_digest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.student_folder import StudentFolder

MAIN_ROLES = ("export", "student")


@dataclass(frozen=True)
class Candidate:
    """One line of the report: a student or baseline in one precision, exported once per seed."""

    name: str  # "bilstm", "bilstm-alone", "bilstm-int8", "blend-int8"
    role: str  # "baseline", "student" or "export"
    exports: dict[int, ModelFolder]  # seed → exported model
    shipped: ModelFolder  # the copy that ships
    students: dict[int, StudentFolder]  # seed → trained student, for its training curve; of a blend none
    members: tuple["Candidate", ...] = ()  # of a blend: what it was made from

    @cached_property
    def shipped_place(self) -> int | None:
        """Index of the export that the shipped copy was made from; files are compared by hash."""
        shipped = _digests(self.shipped)
        return next((place for place, export in enumerate(self.exports.values()) if _digests(export) == shipped), None)


@dataclass(frozen=True)
class RefusedCandidate:
    """A candidate that is left out because a file of it does not predict what its student predicts."""

    name: str
    precision: str
    reason: str  # what was measured, and what is allowed
    advice: str
    key: str  # digest of what its files would have been made from

    def as_json(self) -> dict[str, str]:
        """As in the report."""
        return {"name": self.name, "precision": self.precision, "reason": self.reason, "advice": self.advice}


def _digests(model: ModelFolder) -> list[str]:
    return [file_digest(graph) for graph in model.graphs]


def main_place(candidates: Sequence[Candidate]) -> int | None:
    """Index of the candidate that people will use: the int8 file, or else the student."""
    roles = [candidate.role for candidate in candidates]
    return next((roles.index(role) for role in MAIN_ROLES if role in roles), None)
