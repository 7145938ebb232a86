"""Times models side by side: each in a process of its own, all of the same layout, taking turns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from limbeck.progress import Bar, Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.row import Row
from limbeck.timing.clock_process import WORKER, Worker
from limbeck.timing.machine import usable_cores
from limbeck.timing.throughput import (
    Rates,
    ThroughputCase,
    cases_by_length,
    cases_of_all_cores,
    taken,
    time_cases,
    turned,
)

SECONDS_PER_TURN = 1.5  # a slow teacher is given fewer texts, so that a whole report is timed in half a minute
LEAST_SAMPLES = 10
WARM_UP_ROWS = 16


@dataclass(frozen=True)
class Subject:
    """What is timed: an exported model, a teacher as a Hugging Face folder, or a student that is one."""

    name: str
    kind: Literal["model", "teacher", "student"]
    folder: Path
    max_length: int


@dataclass(frozen=True)
class Timing:
    """Every measurement of one subject, text to label with tokenising."""

    samples_ms: list[float]  # one text at a time
    rates: list[float]  # rows per second of each round, in batches
    threads: int = 1  # that these two were measured on
    by_case: Rates = field(default_factory=dict)

    @cached_property
    def p50_ms(self) -> float:
        """The median time of one text."""
        return float(np.percentile(self.samples_ms, 50))

    @cached_property
    def p95_ms(self) -> float:
        """Nineteen texts of twenty take no longer."""
        return float(np.percentile(self.samples_ms, 95))

    @cached_property
    def p99_ms(self) -> float:
        """Ninety-nine texts of a hundred take no longer; of fewer samples it is about the slowest."""
        return float(np.percentile(self.samples_ms, 99))

    @property
    def rows_per_second(self) -> float:
        """The median over the rounds."""
        return float(np.median(self.rates))

    @cached_property
    def throughput(self) -> dict[ThroughputCase, float]:
        """Rows per second of every case, the median over the rounds; of one text a call over all samples."""
        alone = 1000 * len(self.samples_ms) / sum(self.samples_ms)
        return {
            ThroughputCase(self.threads, 1): alone,
            **{case: float(np.median(rates)) for case, rates in self.by_case.items()},
        }


def time_models(
    section: Evaluation,
    *,
    subjects: Sequence[Subject],
    rows: Sequence[Row],
    reporter: Reporter,
    command: Sequence[str] = WORKER,
    cores: int | None = None,
) -> list[Timing]:
    """One timing per subject, in their order, over the same texts.

    The subjects take turns, round by round, so that a busy minute of the machine hits all of them alike; only
    one of them works at any moment. Texts are taken from `rows` in their order, from the start again if need be.
    Throughput on all cores is measured at the end, in processes of their own.
    """
    batches, threads, rounds = section.throughput_batches, section.threads, section.latency_rounds
    timings = [Timing(samples_ms=[], rates=[], threads=threads) for _ in subjects]
    own = cases_by_length(batches, threads=threads, rows=len(rows))
    wide = cases_of_all_cores(batches, threads=threads, cores=cores or usable_cores())
    steps = 1 + (2 + len(own)) * rounds + (1 + len(wide) * rounds if wide else 0)
    with reporter.bar("timing", total=len(subjects) * steps, unit="turns") as bar:
        with _ready(subjects, threads=threads, rows=rows, command=command, bar=bar) as workers:
            for turn in range(rounds):
                texts = turned(taken(rows, section.latency_rows), turn, of=rounds)
                batch = turned(taken(rows, section.throughput_rows), turn, of=rounds)
                _one_round(workers, timings, texts=texts, batch=batch, bar=bar)
            _add(timings, time_cases(workers, cases=own, rows=rows, rounds=rounds, bar=bar))
        if wide:
            with _ready(subjects, threads=wide[0].threads, rows=rows, command=command, bar=bar) as workers:
                _add(timings, time_cases(workers, cases=wide, rows=rows, rounds=rounds, bar=bar))
    return timings


@contextmanager
def _ready(
    subjects: Sequence[Subject], *, threads: int, rows: Sequence[Row], command: Sequence[str], bar: Bar
) -> Iterator[list[Worker]]:
    """A fresh process for every subject, with the model loaded and warm."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(subject.name, threads=threads, command=command)) for subject in subjects]
        for worker, subject in zip(workers, subjects, strict=True):
            worker.send(**_load_request(subject, threads=threads))
        for worker in workers:
            worker.receive()
            bar.advance(note=f"{worker.name} loaded")
        for worker in workers:  # only now: while others load, a warm-up would be misled about its own speed
            worker.ask(do="warm_up", rows=taken(rows, WARM_UP_ROWS))
        yield workers


def _one_round(
    workers: Sequence[Worker], timings: Sequence[Timing], *, texts: list[Row], batch: list[Row], bar: Bar
) -> None:
    """Every subject once, one text at a time; then every subject once, in one call."""
    for worker, timing in zip(workers, timings, strict=True):
        answer = worker.ask(do="latency", rows=texts, seconds=SECONDS_PER_TURN, least=LEAST_SAMPLES)
        timing.samples_ms.extend(answer["samples_ms"])
        bar.advance(note=worker.name)
    for worker, timing in zip(workers, timings, strict=True):
        answer = worker.ask(do="throughput", rows=batch, seconds=SECONDS_PER_TURN, least=WARM_UP_ROWS)
        timing.rates.append(answer["rows_per_second"])
        bar.advance(note=worker.name)


def _add(timings: Sequence[Timing], measured: Sequence[Rates]) -> None:
    for timing, rates in zip(timings, measured, strict=True):
        timing.by_case.update(rates)


def _load_request(subject: Subject, *, threads: int) -> Mapping[str, Any]:
    return {
        "do": "load",
        "kind": subject.kind,
        "folder": str(subject.folder),
        "max_length": subject.max_length,
        "threads": threads,
    }
