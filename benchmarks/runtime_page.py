"""The tables of docs/speed.md, out of what benchmarks/runtime.py measured."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.report.wording import UNKNOWN, three_figures, times

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "runtime.json", ROOT / "docs" / "speed.md"
MARKED = re.compile(r"<!-- runtime: (\w+) -->.*?<!-- /runtime -->", re.DOTALL)
SMALLEST_FLOOR_US = 0.1  # below, a ratio says more about the clock
TEACHER, INT8_TEACHER = "BERT-base", "BERT-base, int8"

Found = Mapping[str, Any]
Line = Mapping[str, Any]


def page(text: str) -> str:
    """The page with every table between its marks; a mark whose section was not measured stays as it is."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))

    def filled(match: re.Match[str]) -> str:
        section, table = TABLES[match[1]]
        if section not in found:
            return match[0]
        return f"<!-- runtime: {match[1]} -->\n\n{table(found[section])}\n\n<!-- /runtime -->"

    return MARKED.sub(filled, text)


# ---- times ----


def exact_table(found: Found) -> str:
    """One text of 24 words a call."""
    measured = found["sets"]["exact"]
    by_name = {(line["name"], line["engine"]): _cases(line) for line in measured["models"]}
    teacher, int8 = (_p50(by_name, name) for name in (TEACHER, INT8_TEACHER))
    rows = []
    for line in _slowest_first(measured["models"]):
        cases = _cases(line)
        one = cases[1, 1]["call_ms"]
        two = cases[2, 1]["call_ms"]["p50"] if (2, 1) in cases else None
        ratios = [times(reference / one["p50"]) for reference in (teacher, int8)]
        rows.append([*_name(line), *map(duration, (one["p50"], one["p95"], one["p99"])), *ratios, duration(two)])
    headings = [
        *("model", "engine", "MB", "p50", "p95", "p99", "faster than BERT-base", "than its int8 file", "p50, 2 threads")
    ]
    return _with_machine(found, markdown(headings, rows, words=2))


def mixture_table(found: Found) -> str:
    """Texts as they are, one a call and many."""
    measured = found["sets"]["mixture"]
    rows = []
    for line in _slowest_first(measured["models"]):
        cases = _cases(line)
        rates = [_rate(cases.get(case)) for case in ((1, 32), (1, 256), (2, 256))]
        p50 = cases[1, 1]["call_ms"]["p50"]
        faster = [cases.get(case, {}).get("times_faster") for case in ((1, 1), (1, 256))]
        rows.append([*_name(line)[:2], duration(p50), times(faster[0]), *rates, times(faster[1])])
    headings = [
        *("model", "engine", "p50", "faster", "rows/s by 32", "rows/s by 256", "by 256, 2 threads", "faster by 256")
    ]
    about = f"{measured['texts']:,} texts ({found['texts']}); faster than {measured['measured_by']} in PyTorch."
    return f"{markdown(headings, rows, words=2)}\n\n{about}"


# ---- floor ----


@dataclass(frozen=True)
class Work:
    """What a student has to do: for each token, and once a row."""

    token_bytes: int
    token_products: int
    row_bytes: int
    row_products: int


def work_of(name: str) -> Work:
    """Of the shapes in benchmarks/runtime_models.py on the native engine: what depends on the word alone is looked up,
    of int8 models as numbers of two bytes; a bag's dense layer is looked up too."""
    hidden, dense, classes, filters, windows = 150, 200, 2, 100, (3, 4, 5)
    weight, looked_up = (1, 2) if name.endswith("int8") else (4, 4)
    if name.startswith("Bi-LSTM"):
        recurrent, gates = 2 * 4 * hidden * hidden, 2 * 4 * hidden
        head = 2 * hidden * dense + dense * classes
        return Work(weight * recurrent + looked_up * gates, recurrent, 4 * head, head)
    if name.startswith("TextCNN"):
        sums, head = sum(windows) * filters, len(windows) * filters * classes
        return Work(looked_up * sums, sums, 4 * head, head)
    return Work(4 * dense, dense, 4 * dense * classes, dense * classes)


def parts_table(found: Found) -> str:
    """Where the time of one text goes."""
    rows = [
        [
            line["name"],
            line["engine"],
            *(f"{line[key]:,.1f}" for key in ("text_to_label_us", "tokenising_us", "python_us", "engine_us")),
            f"{line['tokens']} × {line['token_us']:.2f} + {line['rest_of_engine_us']:.1f}",
        ]
        for line in found["parts"]
    ]
    headings = ["model", "engine", "text to label µs", "tokenising", "Python", "engine", "engine: tokens, the rest"]
    return markdown(headings, rows, words=2)


def fresh_table(found: Found) -> str:
    """What a text takes that is read for the first time."""
    keys = ("first_us", "new_us", "again_us")
    rows = [[line["name"], line["engine"], *(f"{line[key]:,.1f}" for key in keys)] for line in found["fresh"]]
    headings = [
        *("model", "engine", "its first texts µs", f"new texts, after {found['learned']:,} others"),
        "the same texts again",
    ]
    return markdown(headings, rows, words=2)


def floor_table(found: Found) -> str:
    """Each part of the native engine's time beside the least that this core could take for it."""
    core = found["core"]
    rows: list[list[str]] = []
    for line in found["parts"]:
        if line["engine"] == "native":
            rows += _against(line, core)
    int8, fp32 = (core[f"{kind}_multiply_adds_per_second"] / 1e9 for kind in ("int8", "fp32"))
    rates = (
        f"One core of this machine ({found['machine']['cpu']}) reads {core['bytes_per_second'] / 1e9:.0f} GB/s out of "
        f"a buffer of {core['buffer_bytes'] / 1e3:.0f} kB, and multiplies and adds {int8:.0f} G int8 and {fp32:.0f} G "
        f"fp32 numbers a second in large matrices; measured in the same run."
    )
    if not rows:
        return rates
    headings = ["model", "part", "bytes read", "multiply-adds", "floor µs", "measured µs", "times the floor"]
    return f"{rates}\n\n{markdown(headings, rows, words=2)}"


def _against(line: Line, core: Found) -> Iterator[list[str]]:
    work, tokens = work_of(line["name"]), line["tokens"]
    kind = "int8" if line["name"].endswith("int8") else "fp32"
    yield _part(line["name"], "tokenising", "", "", line["split_us"], line["tokenising_us"])
    for part, size, products, taken, precision in (
        ("tokens", tokens * work.token_bytes, tokens * work.token_products, tokens * line["token_us"], kind),
        ("head and call", work.row_bytes, work.row_products, line["rest_of_engine_us"], "fp32"),
    ):
        by_bytes = 1e6 * size / core["bytes_per_second"]
        by_products = 1e6 * products / core[f"{precision}_multiply_adds_per_second"]
        yield _part("", part, f"{size:,}", f"{products:,}", max(by_bytes, by_products), taken)
    yield ["", "Python", "", "", "", f"{line['python_us']:.1f}", ""]


def _part(name: str, part: str, size: str, products: str, floor: float, taken: float) -> list[str]:
    ratio = f"{taken / floor:.1f}" if floor >= SMALLEST_FLOOR_US else UNKNOWN
    return [name, part, size, products, f"{floor:.1f}", f"{taken:.1f}", ratio]


# ---- accuracy ----


def accuracy_table(found: Found) -> str:
    """Every file of every run on every engine."""
    rows = [
        [
            run["run"],
            line["name"],
            line["engine"],
            f"{line['size_mb']:.1f}",
            f"{100 * line['accuracy']:.2f}",
            f"{100 * line['same_label_as_fp32']:.2f} %",
            f"{line['largest_difference']:.2g}",
        ]
        for run in found["runs"]
        for line in run["lines"]
    ]
    headings = ["run", "model", "engine", "MB", "accuracy", "same label as fp32", "largest difference of a logit"]
    judged = " and ".join(sorted({f"{run['rows']:,}" for run in found["runs"]}))
    return f"{markdown(headings, rows, words=3)}\n\n{judged} dev rows; fp32 is the fp32 file in onnxruntime."


# ---- writing ----


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> str:
    """A table whose first so many columns are words, the others numbers."""
    sides = ["---" if place < words else "---:" for place in range(len(headings))]
    lines = [f"| {' | '.join(cells)} |" for cells in (headings, sides, *rows)]
    return "\n".join([lines[0], lines[1].replace(" ", ""), *lines[2:]])


def duration(milliseconds: float | None) -> str:
    """`86.1 ms`, `123 µs`."""
    if milliseconds is None:
        return UNKNOWN
    return f"{three_figures(milliseconds)} ms" if milliseconds >= 1 else f"{three_figures(1000 * milliseconds)} µs"


def _rate(case: Found | None) -> str:
    return three_figures(case["rows_per_second"]) if case else UNKNOWN


def _name(line: Line) -> list[str]:
    return [line["name"], line["engine"].partition(" ")[0], three_figures(line["size_mb"])]


def _cases(line: Line) -> dict[tuple[int, int], Any]:
    return {(case["threads"], case["batch"]): case for case in line["cases"]}


def _p50(by_name: Mapping[tuple[str, str], Mapping[tuple[int, int], Any]], name: str) -> float:
    return next(float(cases[1, 1]["call_ms"]["p50"]) for (found, _), cases in by_name.items() if found == name)


def _slowest_first(models: Sequence[Line]) -> list[Line]:
    return sorted(models, key=lambda line: -_cases(line)[1, 1]["call_ms"]["p50"])


def _with_machine(found: Found, table: str) -> str:
    machine = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "limbeck")
    about = f"{machine['cpu']}, {machine['cores']} cores, one thread where nothing else is said; {versions}."
    return f"{table}\n\n{about}"


TABLES: dict[str, tuple[str, Callable[[Found], str]]] = {
    "exact": ("times", exact_table),
    "mixture": ("times", mixture_table),
    "fresh": ("floor", fresh_table),
    "parts": ("floor", parts_table),
    "floor": ("floor", floor_table),
    "accuracy": ("accuracy", accuracy_table),
}
