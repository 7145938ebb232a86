"""The first table of docs/results.md, and the picture of the README: teacher, student alone, and the best students."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.page_parts import only_recurrent, strongest_alone
from benchmarks.page_parts import table as any_table
from benchmarks.results_pictures import Timed, accuracy_against_time
from benchmarks.table_lines import Table
from limbeck.report import wording

Lines = Mapping[str, Mapping[str, Any]]
Again = Mapping[str, Mapping[str, Sequence[float]]]
HEAD = (
    "From each table the Bi-LSTM with the best accuracy on these dev rows, next to the best one alone of any line. The "
    "interval of this gain treats the two as if they were evaluated on different rows, which makes it too wide; paired "
    "intervals, over each line's own student alone, are below. In brackets after an accuracy: results of other runs of "
    "the line, each with a teacher of its own. `× teacher` is relative to its own teacher, or the three that taught it "
    "together, in PyTorch."
)
BESIDE = (
    "The best Bi-LSTM next to transformers taught by the same encoder; each as int8 if there is such a file, with the "
    "milliseconds of one text. The sections below describe the text that each learned from."
)

# What the README's picture shows: the line of the table `sst2`, which of its models, and its name in the picture.
README_MODELS = (
    ("text", "teacher", "teacher (all-mpnet-base-v2), 109M"),
    ("distilbert", "int8", "DistilBERT shape, int8"),
    ("tinybert", "int8", "TinyBERT shape, int8"),
    ("rows", "alone", "Bi-LSTM without a teacher"),
    ("rows", "int8", "Bi-LSTM, same rows, int8"),
    ("text-copies", "int8", "Bi-LSTM, + unlabelled text, int8"),
    ("1m", "int8", "Bi-LSTM under 1M parameters, int8"),
)
README_PICTURES = {"readme-light.svg": "#1f2328", "readme-dark.svg": "#e6edf3"}  # and the colour of the letters


def at_a_glance(found: Mapping[str, tuple[Table, Lines]], *, runs_again: Again | None = None) -> str:
    """One row a data set, for the most accurate recurrent student; speed and size are those of its int8 file.

    `runs_again` are the scores of other runs, by table and line.
    """
    again = runs_again or {}
    rows = [row for name, (table, lines) in found.items() if (row := _row(table, lines, again=again.get(name, {})))]
    if not rows:
        return ""
    headings = ["data", "teacher", "alone", "distilled", "gain (95 %)", "as int8", "int8 MB", "× teacher", "by"]
    shown = any_table(headings, rows, words={"by"})
    return "\n\n".join([f"## At a glance\n\n{HEAD}\n\n{shown}", *_transformers(found)]) + "\n"


def readme_picture(lines: Lines, *, pictures: Path) -> None:
    """Draw SST-2's models by accuracy and time, for light and for dark pages; nothing if a line was not run."""
    if not all(name in lines for name, _, _ in README_MODELS):
        return
    models = []
    for name, entry, shown in README_MODELS:
        found = lines[name][entry]
        role = {"alone": "baseline", "int8": "export"}.get(entry, entry)
        models.append(Timed(shown, found["latency_ms"]["p50"], 100 * found["accuracy"], role))
    for file, ink in README_PICTURES.items():
        accuracy_against_time(models, file=pictures / file, ink=ink)


def _transformers(found: Mapping[str, tuple[Table, Lines]]) -> list[str]:
    """The best Bi-LSTM beside small transformers, where they were students too."""
    rows = []
    for table, lines in found.values():
        recurrent = only_recurrent(lines)
        others = [name for name in lines if name not in recurrent]
        if recurrent and others:
            rows += [_beside(table, lines, name) for name in (_best(recurrent), *others)]
    if not rows:
        return []
    return [
        BESIDE,
        any_table(["data", "student", "accuracy", "parameters", "MB", "ms", "× teacher"], rows, words={"student"}),
    ]


def _beside(table: Table, lines: Lines, name: str) -> list[str]:
    small = lines[name].get("int8") or lines[name]["student"]
    shown = next(one.shown for one in table.lines if one.name == name)
    return [
        table.title,
        f"{'Bi-LSTM, ' if name in only_recurrent(lines) else ''}{shown}",
        wording.percent(small["accuracy"]),
        wording.count(small.get("parameters")),
        wording.three_figures(small.get("size_mb")),
        wording.milliseconds(small, "p50") if small.get("latency_ms") else "–",
        wording.times(small.get("speedup_over_teacher")),
    ]


def _others(scores: Sequence[float]) -> str:
    return f" ({', '.join(wording.percent(one) for one in scores)})" if scores else ""


def _gain(accuracy: float, alone: float, *, rows: int) -> str:
    """With the interval of two shares of as many rows: 1.96 √(p(1 − p) / n + q(1 − q) / n)."""
    half = 1.96 * math.sqrt((accuracy * (1 - accuracy) + alone * (1 - alone)) / rows)
    gain = accuracy - alone
    return f"{wording.signed(gain)} ({wording.signed(gain - half)} to {wording.signed(gain + half)})"


def _best(recurrent: Lines) -> str:
    return max(recurrent, key=lambda name: recurrent[name]["student"]["accuracy"])


def _row(table: Table, lines: Lines, *, again: Mapping[str, Sequence[float]]) -> list[str] | None:
    recurrent = only_recurrent(lines)
    if not recurrent:
        return None
    best = _best(recurrent)
    line = recurrent[best]
    student, small = line["student"], line.get("int8") or {}
    strongest = strongest_alone(recurrent)
    alone = None if strongest is None else recurrent[strongest]["alone"]["accuracy"]
    return [
        table.title,
        wording.percent(line["teacher"]["accuracy"]),
        "" if alone is None else wording.percent(alone),
        f"**{wording.percent(student['accuracy'])}**{_others(again.get(best, []))}",
        "" if alone is None else _gain(student["accuracy"], alone, rows=line["rows"][line["judged_split"]]),
        wording.percent(small.get("accuracy")) if small else "",
        wording.three_figures(small.get("size_mb")) if small else "",
        wording.times((small or student).get("speedup_over_teacher")),
        next(one.shown for one in table.lines if one.name == best),
    ]
