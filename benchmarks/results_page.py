"""docs/results.md, from the numbers of tables, ablation and GPU. Lines that were not run are named, and no more."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.ablation_page import ablation_runs, ablation_section
from benchmarks.glance import at_a_glance, readme_picture
from benchmarks.gpu_page import gpu_section, other_runs
from benchmarks.page_parts import machines_of, only_recurrent, strongest_alone, without_timing
from benchmarks.page_parts import table as any_table
from benchmarks.published import Published
from benchmarks.results_pictures import Point, accuracy_against_speed
from benchmarks.table_lines import TABLES, Line, Table
from limbeck.report import wording

Numbers = Mapping[str, Any]
Lines = Mapping[str, Numbers]  # by name, in the order of the page
WORDS = {"command", "seconds", "on", "source", "rows beside train", "distilled"}  # columns
HEAD = """# Results

The published tables of the field, by recipes that come with the package. `python benchmarks/tables.py` runs them;
with `--write-page` it writes this page from `benchmarks/results/tables/`. Every line has its command;
`LIMBECK_DATA` names the folder of the data, whose files [data.md](data.md) describes.

- Accuracy in percent on dev, mean ± spread over seeds. Dev also chose each student's epoch, and the recipes were tuned
  on it, with the same settings for all seeds: expect slightly less on unseen rows. Numbers of others are as published,
  on the rows named there.
- `alone` is the same network, with the same vocabulary, trained on the labelled rows without the teacher; its vectors
  start at random, or from a file that the recipe names, and are trained. The line `student alone` is that of the first
  recipe; the gain is over the line's own, with a 95 % interval over rows and seeds. p is McNemar's test between the
  models that ship, the best seed of each by dev.
- Times are of one text on one thread of the machine named, text to label, in 30 calls or more; `× teacher` is relative
  to the teacher in PyTorch on the same thread and in the same run, `× int8` to the teacher as an int8 ONNX file.
- Commands are shown without settings of the timing (`[evaluation]`), which was shortened for most lines. On a large GPU
  several lines were trained side by side: their seconds are longer than those of a line alone, and a line that reused
  the teacher of another run has no seconds for it. Times were measured meanwhile, on cores reserved for that.
"""

OTHERS_POINTS = (
    "Published points use the speed-ups of their authors, each on another machine and relative to another teacher."
)


def write_page(root: Path) -> None:
    """Write the page and its pictures; what is left out is named on the terminal."""
    docs, results = root / "docs", root / "benchmarks" / "results"
    sections = []
    found: dict[str, tuple[Table, Lines]] = {}
    runs_again: dict[str, dict[str, list[float]]] = {}
    for table in TABLES.values():
        lines = _lines(table, results / "tables" / f"{table.name}.json")
        for missing in [line.name for line in table.lines if line.name not in lines]:
            print(f"not run yet: {table.name}:{missing}", file=sys.stderr)
        if lines:
            found[table.name] = table, lines
            again = {
                line.name: [
                    *ablation_runs(results / "ablation_sst2.json", line.recipe),
                    *other_runs(results, line.recipe),
                ]
                for line in table.lines
                if line.name in lines and not line.overrides
            }
            runs_again[table.name] = again
            sections.append(section(table, lines, pictures=docs / "results", runs_again=again))
    if ablation := ablation_section(results / "ablation_sst2.json", pictures=docs / "results"):
        sections.append(ablation)
    else:
        print("not run yet: the ablation", file=sys.stderr)
    if training := gpu_section(results):
        sections.append(training)
    else:
        print("not run yet: training on a GPU", file=sys.stderr)
    if "sst2" in found:
        readme_picture(found["sst2"][1], pictures=docs / "results")
    glance = at_a_glance(found, runs_again=runs_again)
    (docs / "results.md").write_text("\n".join(filter(None, [HEAD, glance, *sections])), encoding="utf-8")


def _lines(table: Table, results: Path) -> Lines:
    if not results.is_file():
        return {}
    found = json.loads(results.read_text(encoding="utf-8"))["lines"]
    return {line.name: found[line.name] for line in table.lines if line.name in found}


def section(
    table: Table, lines: Lines, *, pictures: Path, runs_again: Mapping[str, Sequence[float]] | None = None
) -> str:
    """One table's part of the page; `runs_again` are the scores, by line, of runs of it that the table has not."""
    shown = {line.name: line.shown for line in table.lines}
    parts = [
        f"## {table.title}",
        _introduction(lines),
        _quality(lines, shown),
        _cost(lines, shown),
        _picture(table, lines, pictures=pictures),
        _relative(lines, shown),
        _classes(lines, shown) if table.has_classes else "",
        _published(table.published),
        _commands(lines, shown),
        _what_differs(table, lines, runs_again or {}),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _introduction(lines: Lines) -> str:
    first = next(iter(lines.values()))
    rows = ", ".join(f"{split} {count:,}" for split, count in first["rows"].items())
    return f"Rows: {rows}. {_teachers(lines)} Machine: {machines_of(line['machine'] for line in lines.values())}."


def _teachers(lines: Lines) -> str:
    """By name; with their accuracy where there are several, or where one was fine-tuned more than once."""
    scores: dict[str, dict[float, None]] = {}
    for line in lines.values():
        scores.setdefault(line["teacher"]["name"], {})[line["teacher"]["accuracy"]] = None
    shown = {name: ", ".join(wording.percent(one) for one in found) for name, found in scores.items()}
    if len(shown) > 1:
        return f"Teachers: {' and '.join(f'{name} ({found})' for name, found in shown.items())}."
    ((name, found),) = shown.items()
    again = f" It was fine-tuned again for some lines: {found}." if len(scores[name]) > 1 else ""
    return f"Teacher: {name}.{again}"


def _each_teacher(lines: Lines) -> dict[str, Numbers]:
    """That of the first line, and those of another name that other lines have."""
    first = next(iter(lines.values()))["teacher"]
    others = {line["teacher"]["name"]: line["teacher"] for line in reversed(list(lines.values()))}
    return {"teacher": first, **{f"teachers: {name}": one for name, one in others.items() if name != first["name"]}}


def _quality(lines: Lines, shown: Mapping[str, str]) -> str:
    has_f1 = any("f1_positive" in line["student"] for line in lines.values())
    first = next(iter(lines.values()))
    entries: list[list[str]] = []
    for name, entry in (*_each_teacher(lines).items(), ("student alone", first.get("alone"))):
        if entry:
            agrees = wording.percent(entry["teacher_agreement"])
            entries.append([name, *_scores(entry, has_f1=has_f1), "", "", "", agrees])
    for name, line in lines.items():
        student = line["student"]
        p = student.get("mcnemar_against_alone")
        entries.append(
            [
                shown[name],
                *_scores(student, has_f1=has_f1),
                wording.percent(line["alone"]["accuracy"]) if line.get("alone") else "",
                _gain(student),
                wording.p_value(p["p"]) if p else "",
                wording.percent(student["teacher_agreement"]),
                wording.percent(line["int8"]["accuracy"]) if "int8" in line else "",
                _text(line),
            ]
        )
    f1 = ["F1 of the second class"] if has_f1 else []
    headings = ["model", "accuracy", "each seed", "macro F1", *f1, "own alone", "gain over it (95 %)", "p", "agrees"]
    return _markdown([*headings, "as int8", "rows beside train"], entries)


def _scores(entry: Numbers, *, has_f1: bool) -> list[str]:
    each = [wording.percent(one) for one in entry.get("accuracy_per_seed", [])]
    spread = f" ± {100 * entry['accuracy_sd']:.1f}" if len(each) > 1 else ""
    f1 = [wording.percent(entry.get("f1_positive"))] if has_f1 else []
    return [
        f"{wording.percent(entry['accuracy'])}{spread}",
        " ".join(each) if len(each) > 1 else "",
        wording.percent(entry["macro_f1"]),
        *f1,
    ]


def _gain(student: Numbers) -> str:
    gain = student.get("gain_over_baseline")
    if not gain:
        return ""
    low, high = (wording.signed(bound) for bound in gain["ci95"])
    return f"{wording.signed(gain['accuracy'])} ({low} to {high})"


def _text(line: Numbers) -> str:
    parts = [(line["transfer_rows"], "of text"), (line["copies"], "copies")]
    return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def _cost(lines: Lines, shown: Mapping[str, str]) -> str:
    first = next(iter(lines.values()))
    timed = next((line for line in lines.values() if (line.get("teacher_int8") or {}).get("latency_ms")), None)
    first_teacher, *others = _each_teacher(lines).items()
    entries = [_costs(first_teacher[0], (timed or first)["teacher"]), *(_costs(*other) for other in others)]
    if timed:
        entries.append(_costs("teacher, int8 ONNX", timed["teacher_int8"]))
    for name, line in lines.items():
        entries.append(_costs(shown[name], line["student"]))
        if "int8" in line:
            entries.append(_costs(f"{shown[name]}, int8", line["int8"]))
    headings = ["model", "parameters", "without embeddings", "MB", "p50 ms", "p95 ms", "× teacher", "× int8"]
    return _markdown(headings, entries)


def _costs(name: str, entry: Numbers) -> list[str]:
    return [
        name,
        wording.count(entry.get("parameters")),
        wording.count(entry.get("parameters_without_embeddings")),
        wording.three_figures(entry.get("size_mb")),
        *(wording.milliseconds(entry, which) if entry.get("latency_ms") else "–" for which in ("p50", "p95")),
        wording.times(entry.get("speedup_over_teacher")),
        wording.times(entry.get("speedup_over_teacher_int8")),
    ]


def _picture(table: Table, lines: Lines, *, pictures: Path) -> str:
    """Accuracy against how many times faster than its teacher; other people's points by their own factors."""
    ours = [
        Point(name, entry["speedup_over_teacher"], 100 * entry["accuracy"])
        for name, line in lines.items()
        for entry in [line.get("int8") or line["student"]]
        if entry.get("speedup_over_teacher")
    ]
    others = [Point(*one.point) for one in table.published if one.point]
    if not ours:
        return ""
    teachers: dict[str, list[float]] = {}
    for line in lines.values():
        found = teachers.setdefault(line["teacher"]["name"], [])
        if (accuracy := round(100 * line["teacher"]["accuracy"], 1)) not in found:
            found.append(accuracy)
    file = pictures / f"{table.name}.svg"
    accuracy_against_speed(ours, others, teachers=teachers, file=file)
    names = "; ".join(f"{line.name}: {line.shown}" for line in table.lines if line.name in lines)
    note = f" {OTHERS_POINTS}" if others else ""
    return f"![Accuracy against speed, {table.title}](results/{file.name})\n\nNames in it: {names}.{note}"


def _relative(lines: Lines, shown: Mapping[str, str]) -> str:
    """(row − column) / column in percent."""
    first = next(iter(lines.values()))
    models = {name: teacher["accuracy"] for name, teacher in _each_teacher(lines).items()}
    if first.get("alone"):
        models["alone"] = first["alone"]["accuracy"]
    models |= {shown[name]: line["student"]["accuracy"] for name, line in lines.items()}
    numbers = range(1, len(models) + 1)
    rows = [
        [
            f"{number} {name}",
            *("·" if name == other else wording.signed(own / theirs - 1) for other, theirs in models.items()),
        ]
        for number, (name, own) in zip(numbers, models.items(), strict=True)
    ]
    headings = ["model", *(str(number) for number in numbers)]
    return "Relative change of accuracy, in % of the column's:\n\n" + _markdown(headings, rows)


def _classes(lines: Lines, shown: Mapping[str, str]) -> str:
    """F1 of every class: of the teacher, of the student alone, and of every line."""
    first = next(iter(lines.values()))
    models = {**_each_teacher(lines), **({"alone": first["alone"]} if first.get("alone") else {})}
    models |= {shown[name]: line["student"] for name, line in lines.items()}
    rows = [
        [label, *(wording.percent(entry["f1_of_class"].get(label)) for entry in models.values())]
        for label in first["teacher"]["f1_of_class"]
    ]
    return "F1 of every class:\n\n" + _markdown(["class", *models], rows)


def _published(published: Sequence[Published]) -> str:
    if not published:
        return ""
    headings = ["published", "teacher", "alone", "distilled", "parameters", "faster", "on", "source"]
    rows = [
        [one.system, one.teacher, one.alone, one.distilled, one.parameters, one.faster, one.judged, one.source]
        for one in published
    ]
    return _markdown(headings, rows)


def _commands(lines: Lines, shown: Mapping[str, str]) -> str:
    rows = [[shown[name], f"`{without_timing(line['command'])}`", _seconds(line)] for name, line in lines.items()]
    return _markdown(["model", "command", "seconds"], rows)


def _seconds(line: Numbers) -> str:
    """Of the stages that take long; a teacher that several lines share is counted in each."""
    spent = dict(line["seconds"])
    spent["teacher"] = spent.get("teacher", 0.0) + spent.pop("teachers", 0.0)  # members of an ensemble
    named = ("teacher", "labels", "students", "report")
    return ", ".join(f"{stage} {spent[stage]:.0f}" for stage in named if spent.get(stage))


def _what_differs(table: Table, lines: Lines, runs_again: Mapping[str, Sequence[float]]) -> str:
    recurrent = only_recurrent(lines)
    sentences = [
        *table.differs,
        *dict.fromkeys(one.differs for one in table.lines if one.differs and one.name in lines),
    ]
    if recurrent:
        best = max(100 * line["student"]["accuracy"] for line in recurrent.values())
        above = [one for one in table.published if one.best is not None and one.best > best]
        below = [one for one in table.published if one.best is not None and one.best <= best]
        sentences += [f"**Not matched**: {one.system}, {one.best:.1f} against {best:.1f} here." for one in above]
        if below:
            named = ", ".join(f"{one.system} ({one.best:.1f})" for one in below)
            sentences.append(f"The best recurrent student here, {best:.1f}, is not below: {named}.")
    shown = {line.name: line.shown for line in table.lines}
    sentences += [*_line_by_line(table, lines), *_without_gain(lines, shown), *_over_alone(table, recurrent)]
    sentences += [f"{shown[name]}: {line['remark']}" for name, line in lines.items() if "remark" in line]
    sentences += [_other_runs(line, again) for line in table.lines if (again := runs_again.get(line.name))]
    if missing := [line.shown for line in table.lines if line.name not in lines]:
        sentences.append(f"Not run: {'; '.join(missing)}.")
    return "\n".join(["What differs from the published tables, and what was not matched:", "", *_bullets(sentences)])


def _other_runs(line: Line, again: Sequence[float]) -> str:
    found = " and ".join(wording.percent(one) for one in again)
    return (
        f"{line.shown}: other runs of it, each with a teacher of its own, reached {found} (in the last two sections)."
    )


def _line_by_line(table: Table, lines: Lines) -> list[str]:
    """Of every method that somebody published by name: theirs beside ours."""
    shown = {line.name: line.shown for line in table.lines}
    said = []
    for one in table.published:
        for name, theirs in one.by_line.items():
            if name in lines:
                ours = 100 * lines[name]["student"]["accuracy"]
                verdict = "" if ours >= theirs else "**Not matched**: "
                size = f" with {one.parameters} parameters" if lines[name]["student"]["kind"] == "transformer" else ""
                rows = one.judged.partition(",")[0]
                said.append(f"{verdict}{shown[name]}, {ours:.1f} here, {theirs:.1f} on {rows} by {one.system}{size}.")
    return said


def _without_gain(lines: Lines, shown: Mapping[str, str]) -> list[str]:
    """Students that are no better than alone, and text that did not help."""
    said = []
    for name, line in lines.items():
        student, alone = line["student"]["accuracy"], (line.get("alone") or {}).get("accuracy", 0.0)
        if student <= alone:
            numbers = f"{wording.percent(student)} against {wording.percent(alone)}"
            said.append(f"**No gain**: {shown[name]}, {numbers} of the same student alone.")
    recurrent = only_recurrent(lines)
    plain = next((name for name, line in recurrent.items() if not line["transfer_rows"] and not line["copies"]), None)
    if plain is None:
        return said
    without = recurrent[plain]["student"]["accuracy"]
    for name, line in recurrent.items():
        student = line["student"]["accuracy"]
        if line["transfer_rows"] and student < without:
            numbers = f"{wording.percent(student)} against {wording.percent(without)}"
            said.append(f"**No help here**: {shown[name]}, {numbers} without ({shown[plain]}).")
    return said


def _over_alone(table: Table, lines: Lines) -> list[str]:
    """The best Bi-LSTM beside the best one alone, which may be another line's; and whether that was the aim."""
    strongest = strongest_alone(lines)
    if strongest is None:
        return []
    best = max(lines, key=lambda name: lines[name]["student"]["accuracy"])
    alone = lines[strongest]["alone"]["accuracy"]
    gain = lines[best]["student"]["accuracy"] - alone
    said = []
    if alone > (lines[best].get("alone") or {"accuracy": 0.0})["accuracy"]:
        shown = {line.name: line.shown for line in table.lines}
        said = [
            f"The best student alone is that of another line, {shown[strongest]}: {wording.percent(alone)}. "
            f"Over that one, the best line gains {wording.signed(gain)}."
        ]
    if table.aim is not None and 100 * gain < table.aim:
        said.append(
            f"**Not reached**: {table.aim:g} points over the best student alone were the aim, the best line gains "
            f"{wording.signed(gain)}."
        )
    return said


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return any_table(headings, rows, words=WORDS)


def _bullets(sentences: Sequence[str]) -> list[str]:
    return [f"- {sentence}" for sentence in sentences]
