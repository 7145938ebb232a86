"""The results of `limbeck bench` on the terminal: one table per number of threads."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from rich.console import Console
from rich.text import Text

from limbeck.report.tables.grid import Entry, Field, Grid, grid_of
from limbeck.report.tables.terminal import print_grid
from limbeck.report.wording import UNKNOWN, three_figures, times


def print_bench(result: Mapping[str, Any], console: Console) -> None:
    """Print a table per number of threads, the slowest model first; then what the numbers mean."""
    for threads in sorted({case["threads"] for model in result["models"] for case in model["cases"]}):
        print_grid(bench_grid(result["models"], threads=threads), console)
        console.print()
    console.print(Text(explained(result), style="dim"))


def bench_grid(models: Sequence[Mapping[str, Any]], *, threads: int) -> Grid:
    """The times of every model with this number of threads."""
    entries = [
        {**model, "by_batch": {case["batch"]: case for case in model["cases"] if case["threads"] == threads}}
        for model in models
    ]
    entries.sort(key=_p50, reverse=True)
    cases = {batch: case for entry in entries for batch, case in entry["by_batch"].items() if batch > 1}
    compared = [batch for batch, case in cases.items() if case["times_faster"] is not None]
    fields = [*_fields(sorted(cases)), *([_number("bulk", max(compared), "times_faster", rank=3)] if compared else [])]
    title = f"{threads} thread{'' if threads == 1 else 's'}"
    return grid_of(f"{threads}", title=title, fields=fields, entries=entries)


def _p50(entry: Entry) -> float:
    """With one text per call. A model that was too slow to be timed is sorted as the slowest."""
    alone = entry["by_batch"].get(1)
    return float(alone["call_ms"]["p50"]) if alone else inf


def explained(result: Mapping[str, Any]) -> str:
    """What was measured, in words."""
    texts = result["texts"]
    kind = "pairs of texts" if texts["pairs"] else "texts"
    most = max(case["batch"] for model in result["models"] for case in model["cases"])
    rates = f"{most}/s: rows per second in calls of {most}. " if most > 1 else ""
    counts = {len(model["cases"]) for model in result["models"]}
    open_cases = f" {UNKNOWN}: a call would have taken too long." if len(counts) > 1 else ""
    return (
        f"From text to label, including tokenization, on {texts['count']:,} {kind} ({texts['source']}; half of them "
        f"have up to {texts['median_characters']:,} characters), which are repeated, so that their words are known; "
        f"each model in its own process, taking turns; {result['machine']['cpu']}. p50, p95, p99: with one text per "
        f"call, 50, 95 and 99 of 100 calls take at most this long. {rates}Faster: compared with "
        f"{result['measured_by']}, with one text per call; bulk: the same in the largest calls that both were timed "
        f"with.{open_cases}"
    )


def _fields(batches: Sequence[int]) -> list[Field]:
    """The columns; the less important, the higher the rank."""
    return [
        Field("model", lambda entry: str(entry["name"]), {}, is_words=True),
        Field("engine", lambda entry: str(entry["engine"]).partition(" ")[0], {}, is_words=True),
        Field("MB", lambda entry: three_figures(entry["size_mb"]), {"size_mb": lambda entry: entry["size_mb"]}, rank=4),
        _number("p50 ms", 1, "call_ms", "p50"),
        _number("p95", 1, "call_ms", "p95", rank=1),
        _number("p99", 1, "call_ms", "p99", rank=2),
        _number("faster", 1, "times_faster"),
        *(_number(f"{batch}/s", batch, "rows_per_second", rank=1) for batch in batches),
    ]


def _number(heading: str, batch: int, *keys: str, rank: int = 0) -> Field:
    """A column with a number of the calls with this many rows; a dash if there are none."""

    def value(entry: Entry) -> Any:
        found = entry["by_batch"].get(batch)
        for key in keys:
            found = found and found[key]
        return found

    def text(entry: Entry) -> str:
        number = value(entry)
        if number is None:
            return UNKNOWN
        return times(number) if keys[-1] == "times_faster" else three_figures(number)

    return Field(heading, text, {f"{batch} {' '.join(keys)}": value}, rank=rank)
