"""One bench: who takes part, on which texts, and what came out of it, as numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.progress import Reporter
from limbeck.runtime.row import Row, characters
from limbeck.timing.contestant import Contestant, EngineOfBench, line_up
from limbeck.timing.machine import machine_facts, usable_cores
from limbeck.timing.texts import TextFile, file_rows, mixed, own_rows
from limbeck.timing.turns import BenchCase, Timed, time_contestants

Result = dict[str, Any]
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}


def bench(
    models: Sequence[Path],
    *,
    reporter: Reporter,
    teacher: Path | None = None,
    texts: TextFile | None = None,
    engine: EngineOfBench = "auto",
    threads: Sequence[int] = (),
    batches: Sequence[int] = (32, 256),
    seconds: float = 2.0,
) -> Result:
    """Time models, from text to label, and tell how much faster each is than the teacher, or than the slowest.

    `models` are folders of exported models, or of runs; without `threads`, they are timed on one and on as many as
    there are CPUs to use. `seconds` is what each model is timed for in each case.
    """
    contestants = line_up(models, teacher=teacher, engine=engine, reporter=reporter)
    rows = _rows(contestants, texts)
    counts = sorted({*threads} or {1, usable_cores()})
    timed = time_contestants(
        contestants,
        rows=mixed(rows),
        threads=counts,
        batches=sorted({1, *batches}),
        seconds=seconds,
        reporter=reporter,
    )
    return {
        "machine": machine_facts(threads=counts[0]),
        "texts": _told_texts(rows, texts),
        "seconds": seconds,
        **compared(contestants, timed),
    }


def compared(contestants: Sequence[Contestant], timed: Sequence[Timed]) -> Result:
    """The numbers of every model, and how many times faster than the one they are measured by it is in each case."""
    place = _reference(contestants, timed)
    reference, name = timed[place], contestants[place].name
    is_one = [one.name for one in contestants].count(name) == 1
    return {
        "measured_by": name if is_one else f"{name} on {reference.engine}",
        "models": [_line(one, its, reference) for one, its in zip(contestants, timed, strict=True)],
    }


def _line(contestant: Contestant, timed: Timed, reference: Timed) -> Result:
    return {
        "name": contestant.name,
        "engine": timed.engine,
        "folder": str(contestant.folder),
        "size_mb": round(contestant.size_mb, 2),
        "cases": [_case(case, timed, reference) for case in timed.cases],
    }


def _case(case: BenchCase, timed: Timed, reference: Timed) -> Result:
    timing, other = timed.cases[case], reference.cases.get(case)
    return {
        "threads": case.threads,
        "batch": case.batch,
        "call_ms": {name: timing.percentile(share) for name, share in PERCENTILES.items()},
        "calls": len(timing.samples_ms),
        "rows_per_second": timing.rows_per_second,
        "times_faster": other.percentile(50) / timing.percentile(50) if other else None,
    }


def _reference(contestants: Sequence[Contestant], timed: Sequence[Timed]) -> int:
    """The place of the first teacher; without one, that of the model that takes longest for one text."""
    for place, contestant in enumerate(contestants):
        if contestant.is_teacher:
            return place
    first = next(iter(timed[0].cases))
    return int(np.argmax([its.cases[first].percentile(50) for its in timed]))


def _rows(contestants: Sequence[Contestant], texts: TextFile | None) -> list[Row]:
    pair = any(one.pair for one in contestants)
    if texts is not None:
        return file_rows(texts, pair=pair)
    language = next((one.language for one in contestants if one.language), "en")
    return own_rows(language, pair=pair)


def _told_texts(rows: Sequence[Row], texts: TextFile | None) -> Result:
    return {
        "source": str(texts.path) if texts else "built in",
        "count": len(rows),
        "pairs": not isinstance(rows[0], str),
        "median_characters": int(np.median([characters(row) for row in rows])),
    }
