"""The third table: accuracy, parameters, size and time of every model, and the factors against the teacher."""

from collections.abc import Callable, Mapping
from typing import Any

from limbeck.report import wording
from limbeck.report.tables.grid import Entry, Field, Grid, grid_of, named
from limbeck.report.tables.quality import MODEL, percents

Case = tuple[str, int, int]  # "" for all texts, "short" or "long"; threads; texts per call


def cost_grid(report: Mapping[str, Any]) -> Grid:
    """The costs of every model; the teacher also as an int8 file, if it was timed as one."""
    entries = [_with_factors(entry, report) for entry in wording.marked_models(report)]
    int8 = _int8_teacher(report)
    if int8:
        entries.insert(1, _with_factors(int8, report))
    threads = report["machine"]["threads"]
    return grid_of(
        "cost",
        title="Size and speed",
        fields=[MODEL, _quality(report), *FIELDS],
        entries=entries,
        caption=f"text to label on {threads} thread{'' if threads == 1 else 's'}",
        notes=_notes(report) if int8 else [],
    )


def _quality(report: Mapping[str, Any]) -> Field:
    if wording.is_score(report):
        return _column(wording.measure(report), "spearman", wording.decimal, rank=1)
    return percents(f"{wording.measure(report)} %", "accuracy", rank=1)


def throughput_grid(report: Mapping[str, Any]) -> Grid:
    """Rows per second of every model in each timed case: threads, batch, and only short or long texts."""
    timed = [entry for entry in wording.marked_models(report) if entry.get("throughput")]
    cases = sorted({_case(point) for entry in timed for point in entry["throughput"]})
    fields = [MODEL, *(_throughput(case) for case in cases)]
    return grid_of("throughput", title="Rows per second", fields=fields, entries=timed)


def _case(point: Mapping[str, Any]) -> Case:
    return point.get("length", ""), point["threads"], point["batch"]


def _throughput(case: Case) -> Field:
    def rate(entry: Entry) -> float | None:
        found = [point for point in entry["throughput"] if _case(point) == case]
        return float(found[0]["rows_per_second"]) if found else None

    length, threads, batch = case
    words = [
        f"{threads} thread{'' if threads == 1 else 's'}",
        f"batch {batch}",
        *([f"{length} texts"] if length else []),
    ]
    return Field(
        heading=", ".join(words),
        text=lambda entry: wording.three_figures(rate(entry)),
        values={"rows_per_second " + ", ".join(words): rate},
    )


def _int8_teacher(report: Mapping[str, Any]) -> dict[str, Any] | None:
    found = report.get("teacher_int8")
    if not found:
        return None
    teacher = wording.teacher_of(report)
    times = {name: (entry["latency_ms"] or {}).get("p50") for name, entry in (("own", found), ("teacher", teacher))}
    speedup = times["teacher"] / times["own"] if times["own"] and times["teacher"] else None
    return {
        **{key: teacher[key] for key in ("role", "parameters", "parameters_without_embeddings")},
        **{key: found.get(key) for key in ("size_mb", "latency_ms", "rows_per_second")},
        "name": "teacher, int8 ONNX",
        "multiply_adds": teacher.get("multiply_adds"),
        "speedup_over_teacher": speedup,
        "speedup_over_teacher_int8": 1.0,
    }


def _with_factors(entry: Entry, report: Mapping[str, Any]) -> dict[str, Any]:
    teacher = wording.teacher_of(report)
    return {
        **entry,
        "times_smaller": _times_less(entry, teacher, "size_mb"),
        "times_fewer_parameters": _times_less(entry, teacher, "parameters"),
    }


def _times_less(entry: Entry, teacher: Entry, key: str) -> float | None:
    return teacher[key] / entry[key] if teacher[key] and entry[key] else None


def _notes(report: Mapping[str, Any]) -> list[str]:
    agreement, rows = (report["teacher_int8"].get(key) for key in ("agreement", "agreement_rows"))
    if agreement is None:
        return []
    asked = f"{rows:,} rows" if rows else "rows"
    if wording.is_score(report):
        return [f"The teacher as an int8 file: Pearson {wording.decimal(agreement)} with the teacher on {asked}."]
    return [f"The teacher as an int8 file gives the teacher's label on {wording.percent(agreement)} % of {asked}."]


def _column(heading: str, key: str, text: Callable[[Any], str], **more: Any) -> Field:
    value = named(key)
    values = {key.replace(".", "_"): value}
    return Field(heading=heading, text=lambda entry: text(value(entry)), values=values, **more)


FIELDS = [
    _column("params", "parameters", wording.count, rank=1, page_heading="parameters"),
    _column(
        *("no emb.", "parameters_without_embeddings", wording.count),
        rank=5,
        page_heading="without embeddings",
        legend="no emb.: parameters without embeddings",
    ),
    _column("fewer", "times_fewer_parameters", wording.times, rank=11),
    _column("MB", "size_mb", wording.three_figures),
    _column("smaller", "times_smaller", wording.times, rank=8),
    _column("mult-adds", "multiply_adds", wording.count, rank=7, page_heading="multiply-adds per text"),
    _column("p50 ms", "latency_ms.p50", wording.three_figures, legend="p50 one text at a time"),
    _column("p95", "latency_ms.p95", wording.three_figures, rank=4, page_heading="p95 ms"),
    _column("p99", "latency_ms.p99", wording.three_figures, rank=6, page_heading="p99 ms"),
    _column("rows/s", "rows_per_second", wording.three_figures, rank=3, legend="rows/s in batches"),
    _column("faster", "speedup_over_teacher", wording.times, page_heading="faster than teacher"),
    _column(
        *("vs int8", "speedup_over_teacher_int8", wording.times),
        rank=2,
        page_heading="faster than teacher in int8",
        legend="faster than the teacher, and than its int8 file",
    ),
]
