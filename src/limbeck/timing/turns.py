"""Models that take turns: each in a process of its own, a short while each, round after round."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from limbeck.errors import ModelNotTimed
from limbeck.progress import Bar, Reporter
from limbeck.runtime.row import Row
from limbeck.timing.bench_worker import WORKER
from limbeck.timing.clock_process import Worker
from limbeck.timing.contestant import Contestant

ROUNDS = 8
MOST_SECONDS_PER_CALL = 30.0  # a call that would take longer is left out


@dataclass(frozen=True)
class BenchCase:
    """Calls of so many rows on so many threads."""

    threads: int
    batch: int


@dataclass
class BenchTiming:
    """The calls of one model in one case."""

    samples_ms: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)  # rows per second of each turn

    @property
    def seconds(self) -> float:
        """Of all calls together."""
        return sum(self.samples_ms) / 1000

    @property
    def rows_per_second(self) -> float:
        """The median over the turns."""
        return median(self.rates)

    def percentile(self, share: float) -> float:
        """So many percent of the calls take no more milliseconds."""
        return float(np.percentile(self.samples_ms, share))


@dataclass
class Timed:
    """One model: what ran it, and its timings; a case that would have taken too long is missing."""

    engine: str = ""
    cases: dict[BenchCase, BenchTiming] = field(default_factory=dict)


def time_contestants(
    contestants: Sequence[Contestant],
    *,
    rows: Sequence[Row],
    threads: Sequence[int],
    batches: Sequence[int],
    seconds: float,
    reporter: Reporter,
    command: Sequence[str] = WORKER,
) -> list[Timed]:
    """What each takes, in their order: every number of rows a call on every number of threads, for so many seconds.

    All go through the rows in their order, each as far as its seconds allow. Only one works at any moment. In every
    round another one begins, so that none always follows the same neighbour.
    """
    found = [Timed() for _ in contestants]
    turns = len(threads) * (1 + len(batches) * ROUNDS) * len(contestants)
    with reporter.bar("timing", total=turns, unit="turns") as bar:
        for count in threads:
            with _told(), _ready(contestants, threads=count, rows=rows, command=command) as workers:
                for timed, worker in zip(found, workers, strict=True):
                    timed.engine = worker.receive()["engine"]
                    bar.advance(note=f"{worker.name} loaded")
                for batch in batches:
                    _time_case(BenchCase(count, batch), workers, found, seconds=seconds, bar=bar)
    return found


@contextmanager
def _told() -> Iterator[None]:
    """A process that died over its model is the user's to know, and no fault of the bench."""
    try:
        yield
    except RuntimeError as error:
        raise ModelNotTimed(last_words=str(error)) from error


@contextmanager
def _ready(
    contestants: Sequence[Contestant], *, threads: int, rows: Sequence[Row], command: Sequence[str]
) -> Iterator[list[Worker]]:
    """A fresh process for each, all of them loading."""
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(one.name, threads=threads, command=command)) for one in contestants]
        for worker, contestant in zip(workers, contestants, strict=True):
            worker.send(do="load", rows=list(rows), threads=threads, **contestant.request())
        yield workers


def _time_case(case: BenchCase, workers: Sequence[Worker], found: Sequence[Timed], *, seconds: float, bar: Bar) -> None:
    both = list(zip(workers, found, strict=True))
    for number in range(ROUNDS):
        start = number % len(both)
        for worker, timed in both[start:] + both[:start]:
            if _is_due(case, timed, seconds=seconds):
                answer = worker.ask(do="turn", batch=case.batch, seconds=seconds / ROUNDS)
                timing = timed.cases.setdefault(case, BenchTiming())
                timing.samples_ms += answer["samples_ms"]
                spent = sum(answer["samples_ms"]) / 1000
                timing.rates.append(case.batch * len(answer["samples_ms"]) / spent)
            bar.advance(note=worker.name)


def _is_due(case: BenchCase, timed: Timed, *, seconds: float) -> bool:
    """Whether a model has time left; and, where it would begin, whether a call of it will end.

    With one row a call it is due in every round: percentiles of fewer calls would say nothing.
    """
    if case in timed.cases:
        return case.batch == 1 or timed.cases[case].seconds < seconds
    slowest = min((timing.rows_per_second for timing in timed.cases.values()), default=np.inf)
    return case.batch / slowest < MOST_SECONDS_PER_CALL
