"""Findings in a terminal: the worst first, each with what was seen and what to do."""

from collections import defaultdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from limbeck.doctor.finding import Examination, Finding, Level

SYMBOLS: dict[Level, tuple[str, str]] = {
    "error": ("✗", "bold red"),
    "warning": ("!", "bold yellow"),
    "note": ("·", "dim"),
}
PLURAL: dict[Level, str] = {"error": "errors", "warning": "warnings", "note": "notes"}


def print_examination(examination: Examination, console: Console) -> None:
    """A table of the findings, what could not be checked, and the sum of it in one line."""
    if examination.findings:
        table = Table(box=None, show_header=False, padding=(0, 1, 1, 0), pad_edge=False)
        table.add_column(width=1)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(ratio=1, overflow="fold")
        for finding in examination.findings:
            symbol, style = SYMBOLS[finding.level]
            table.add_row(Text(symbol, style=style), finding.check, _told(finding))
        console.print(table)
        console.print()
    checks_of: dict[str, list[str]] = defaultdict(list)
    for check, why in examination.not_checked.items():
        checks_of[why].append(check)
    for why, checks in checks_of.items():
        console.print(Text(f"not checked: {', '.join(checks)} ({why})", style="dim"))
    console.print(_sum(examination))


def _told(finding: Finding) -> Text:
    text = Text(finding.what, style="bold" if finding.level != "note" else "")
    if finding.evidence:
        text.append(f"\n{finding.evidence}", style="not bold")
    for number, reason in enumerate(finding.reasons, start=1):
        text.append(f"\n{number}. {reason}", style="not bold")
    if finding.advice:
        text.append(f"\n→ {finding.advice}", style="not bold cyan")
    return text


def _sum(examination: Examination) -> Text:
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
