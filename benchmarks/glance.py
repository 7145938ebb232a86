"""The first table of docs/results.md: of every data set the teacher, the student alone, and the best one distilled."""

from collections.abc import Mapping
from typing import Any

from benchmarks.page_parts import only_recurrent, strongest_alone
from benchmarks.page_parts import table as any_table
from benchmarks.table_lines import Table
from limbeck.evaluation import wording

Lines = Mapping[str, Mapping[str, Any]]
HEAD = (
    "Of each table the Bi-LSTM that is best on the dev rows it is shown on, beside the best one alone of any line. "
    "`× teacher` is against its own teacher, or the three that taught it together. All lines stand below, with their "
    "intervals."
)


def at_a_glance(found: Mapping[str, tuple[Table, Lines]]) -> str:
    """One row a data set, for the most accurate recurrent student; speed and size are those of its int8 file."""
    rows = [row for table, lines in found.values() if (row := _row(table, lines))]
    if not rows:
        return ""
    headings = ["data", "teacher", "alone", "distilled", "gain", "as int8", "int8 MB", "× teacher", "by"]
    told = any_table(headings, rows, words={"by"})
    return f"## At a glance\n\n{HEAD}\n\n{told}\n"


def _row(table: Table, lines: Lines) -> list[str] | None:
    recurrent = only_recurrent(lines)
    if not recurrent:
        return None
    best = max(recurrent, key=lambda name: recurrent[name]["student"]["accuracy"])
    line = recurrent[best]
    student, small = line["student"], line.get("int8") or {}
    strongest = strongest_alone(recurrent)
    alone = None if strongest is None else recurrent[strongest]["alone"]["accuracy"]
    return [
        table.title,
        wording.percent(line["teacher"]["accuracy"]),
        "" if alone is None else wording.percent(alone),
        f"**{wording.percent(student['accuracy'])}**",
        "" if alone is None else wording.signed(student["accuracy"] - alone),
        wording.percent(small.get("accuracy")) if small else "",
        wording.three_figures(small.get("size_mb")) if small else "",
        wording.times((small or student).get("speedup_over_teacher")),
        next(one.shown for one in table.lines if one.name == best),
    ]
