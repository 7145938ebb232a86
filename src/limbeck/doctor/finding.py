"""What a check finds: what is wrong, how that is known, what to do; and all findings of one examination."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["error", "warning", "note"]
Kind = Literal["recipe", "run"]
WORST_FIRST: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """An error makes the results wrong or the money wasted, a warning makes them worse than need be, and a note is
    only good to know."""

    check: str
    level: Level
    what: str
    evidence: str
    advice: str
    reasons: tuple[str, ...] = ()  # likely ones, the likeliest first


@dataclass(frozen=True)
class Examination:
    """All that was found in a recipe or a run, the worst first; and which checks could not be made, and why."""

    target: str
    kind: Kind
    findings: Sequence[Finding]
    checked: Sequence[str]
    not_checked: dict[str, str]  # check → why

    @property
    def has_errors(self) -> bool:
        """Whether something is wrong, and not only suspicious."""
        return any(finding.level == "error" for finding in self.findings)

    @property
    def is_fine(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return all(finding.level == "note" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {**asdict(self), "findings": [asdict(finding) for finding in self.findings]}


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """By level; findings of the same level stay in their order."""
    return sorted(findings, key=lambda finding: WORST_FIRST.index(finding.level))
