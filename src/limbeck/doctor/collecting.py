"""Putting together what is known, part by part: what cannot be had is remembered with the reason."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import NotThere, Stale
from limbeck.errors import LimbeckError


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
    """An error's message as a finding: it begins with what is wrong, and ends with what to do."""
    what, *lines = str(error).splitlines()
    *evidence, advice = lines or [""]
    return Finding(check, "error", what, " ".join(line.strip() for line in evidence), advice)
