"""A report as one table: for the terminal, and as Markdown (rich and the standard library alone)."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from limbeck.evaluation import findings, wording

ROLE_STYLES = {"teacher": "yellow", "baseline": "dim", "student": "bold", "export": ""}
ROOMY = 98  # characters that all columns take, with names of usual length
COLUMNS: dict[str, Callable[[wording.Entry], str]] = {
    "model": lambda entry: str(entry["name"]),
    "accuracy": wording.accuracy,
    "95 %": wording.interval,
    "F1": lambda entry: wording.percent(entry["macro_f1"]),
    "agrees": lambda entry: wording.percent(entry["teacher_agreement"]),
    "parameters": wording.parameters,
    "MB": lambda entry: wording.three_figures(entry["size_mb"]),
    "p50 ms": lambda entry: wording.milliseconds(entry, "p50"),
    "rows/s": lambda entry: wording.three_figures(entry["rows_per_second"]),
    "faster": lambda entry: wording.times(entry["speedup_over_teacher"]),
}


def print_report(report: Mapping[str, Any], console: Console) -> None:
    """The table, what it was measured on, and the verdict. Narrow consoles get fewer columns, not broken ones."""
    roomy = console.width >= ROOMY
    table = Table(box=SIMPLE_HEAD, padding=(0, 1 if roomy else 0, 0, 0), pad_edge=False, show_edge=False)
    columns = _columns(report, roomy=roomy)
    for column in columns:
        is_name = column == "model"
        table.add_column(column, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    for entry in report["models"]:
        cells = [Text(cell(entry)) for cell in columns.values()]
        table.add_row(*cells, style=ROLE_STYLES[entry["role"]])
    console.print(table)
    console.print(Text(_caption(report, roomy=roomy), style="dim"))
    for warning in findings.warnings(report):
        console.print(Text("warning: ", style="yellow") + Text(warning, style="default"))
    for note in findings.notes(report):
        console.print(Text("note: ", style="cyan") + Text(note, style="default"))
    console.print(Text(wording.verdict(report)))


def markdown_table(report: Mapping[str, Any]) -> str:
    """The same table in Markdown, ending in a line break."""
    columns = _columns(report, roomy=True)
    lines = [_markdown_row(list(columns)), "|---|" + "---:|" * (len(columns) - 1)]
    lines += [_markdown_row([cell(entry) for cell in columns.values()]) for entry in report["models"]]
    return "\n".join(lines) + "\n"


def _columns(report: Mapping[str, Any], *, roomy: bool) -> dict[str, Callable[[wording.Entry], str]]:
    renamed = {wording.measure(report) if name == "accuracy" else name: cell for name, cell in COLUMNS.items()}
    if roomy:
        return renamed
    kept = {name: cell for name, cell in renamed.items() if name != "95 %"}
    return {**kept, "parameters": lambda entry: wording.count(entry["parameters"])}


def _caption(report: Mapping[str, Any], *, roomy: bool) -> str:
    """What the columns mean, for someone who sees them for the first time."""
    split, rows, machine = report["judged_split"], report["judged_rows"], report["machine"]
    threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
    parameters = "parameters (without embeddings); " if roomy else ""
    right = "exact match (every label of a row right)" if wording.is_multi_label(report) else "accuracy"
    return (
        f"{rows:,} {split} rows of {report['corpus']['name']}; {right}, macro F1 and agreement with the teacher in %; "
        f"{parameters}text to label on {threads}: p50 one text at a time, rows/s in batches."
    )


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
