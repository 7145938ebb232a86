"""What a check finds: the problem, the evidence, what to do; and all findings of one examination."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

Level = Literal["error", "warning", "note"]
Kind = Literal["recipe", "run"]
WORST_FIRST: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One problem. An error makes results wrong or wastes money, a warning makes them worse than necessary, and a note
    is for information."""

    check: str
    level: Level
    what: str
    evidence: str
    advice: str
    reasons: tuple[str, ...] = ()  # likely ones, the likeliest first


@dataclass(frozen=True)
class Examination:
    """All findings of a recipe or a run, the worst first, and which checks could not be made and why."""

    target: str
    kind: Kind
    findings: Sequence[Finding]
    checked: Sequence[str]
    not_checked: dict[str, str]  # check → why

    @property
    def has_errors(self) -> bool:
        """Whether there is at least one error."""
        return any(finding.level == "error" for finding in self.findings)

    @property
    def is_fine(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return all(finding.level == "note" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {**asdict(self), "findings": [asdict(finding) for finding in self.findings]}


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Sorted by level; findings of the same level keep their order."""
    return sorted(findings, key=lambda finding: WORST_FIRST.index(finding.level))


SYMBOLS: dict[Level, tuple[str, str]] = {
    "error": ("✗", "bold red"),
    "warning": ("!", "bold yellow"),
    "note": ("·", "dim"),
}
PLURAL: dict[Level, str] = {"error": "errors", "warning": "warnings", "note": "notes"}


def print_examination(examination: Examination, console: Console) -> None:
    """Print a table of the findings, what could not be checked, and a summary line."""
    if examination.findings:
        table = Table(box=None, show_header=False, padding=(0, 1, 1, 0), pad_edge=False)
        table.add_column(width=1)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(ratio=1, overflow="fold")
        for finding in examination.findings:
            symbol, style = SYMBOLS[finding.level]
            table.add_row(Text(symbol, style=style), Text(finding.check), _as_text(finding))
        console.print(table)
        console.print()
    checks_of: dict[str, list[str]] = defaultdict(list)
    for check, why in examination.not_checked.items():
        checks_of[why].append(check)
    for why, checks in checks_of.items():
        console.print(Text(f"not checked: {', '.join(checks)} ({why})", style="dim"))
    console.print(_summary(examination))


def _as_text(finding: Finding) -> Text:
    text = Text(finding.what, style="bold" if finding.level != "note" else "")
    if finding.evidence:
        text.append(f"\n{finding.evidence}", style="not bold")
    for number, reason in enumerate(finding.reasons, start=1):
        text.append(f"\n{number}. {reason}", style="not bold")
    if finding.advice:
        text.append(f"\n→ {finding.advice}", style="not bold cyan")
    return text


def _summary(examination: Examination) -> Text:
    count = f"{len(examination.checked)} check{'' if len(examination.checked) == 1 else 's'}"
    if examination.is_fine:
        return Text(f"{count}, all fine", style="green")
    found = [finding.level for finding in examination.findings]
    parts = [
        f"{found.count(level)} {level if found.count(level) == 1 else PLURAL[level]}"
        for level in SYMBOLS
        if level in found
    ]
    return Text(f"{count}: {', '.join(parts)}", style="bold red" if examination.has_errors else "bold yellow")
