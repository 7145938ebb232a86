"""Rows per second by threads, texts a call and length of text: each model a short turn after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from limbeck.progress import Bar
from limbeck.runtime.row import Row, characters
from limbeck.timing.clock_process import Worker

SECONDS_PER_CASE = 0.24  # of one model, over all rounds: thousands of rows of a small student
MOST_SECONDS_PER_CALL = 5.0  # a call that would take longer is left out
LEAST_ROWS = 64  # to take calls from, so that calls of one text are about many texts

Length = Literal["short", "long"]
Rates = dict["ThroughputCase", list[float]]  # rows per second of each turn


@dataclass(frozen=True)
class ThroughputCase:
    """Calls of so many texts on so many threads; the texts are all there are, or the shorter or longer half."""

    threads: int
    batch: int
    length: Length | None = None

    def of(self, rows: Sequence[Row]) -> list[Row]:
        """Its texts among all rows, in their order."""
        if self.length is None:
            return list(rows)
        by_length = sorted(range(len(rows)), key=lambda place: characters(rows[place]))
        middle = len(rows) // 2
        half = by_length[:middle] if self.length == "short" else by_length[middle:]
        return [rows[place] for place in sorted(half)]


def cases_by_length(batches: Sequence[int], *, threads: int, rows: int) -> list[ThroughputCase]:
    """Every batch with all texts; then the first batch with the short ones and with the long ones."""
    halves: tuple[Length, ...] = ("short", "long") if batches and rows > 1 else ()
    return [ThroughputCase(threads, batch) for batch in batches] + [
        ThroughputCase(threads, batches[0], half) for half in halves
    ]


def cases_of_all_cores(batches: Sequence[int], *, threads: int, cores: int) -> list[ThroughputCase]:
    """One text a call and every batch, on all cores; nothing where that is no more than the threads timed anyway."""
    return [ThroughputCase(cores, batch) for batch in (1, *batches)] if batches and cores > threads else []


def time_cases(
    workers: Sequence[Worker], *, cases: Sequence[ThroughputCase], rows: Sequence[Row], rounds: int, bar: Bar
) -> list[Rates]:
    """The rates of every worker, in their order. A model whose calls take long has its seconds used up sooner, and
    fewer turns; a case it would need too long for is missing in its rates."""
    rates: list[Rates] = [{} for _ in workers]
    left = {(place, case): SECONDS_PER_CASE for place, case in product(range(len(workers)), cases)}
    for turn, case in product(range(rounds), cases):
        texts = taken(turned(case.of(rows), turn, of=rounds), max(case.batch, LEAST_ROWS))
        for place, worker in enumerate(workers):
            if left[place, case] > 0:
                limits = {"seconds": SECONDS_PER_CASE / rounds, "most_seconds": MOST_SECONDS_PER_CALL}
                answer = worker.ask(do="calls", rows=texts, batch=case.batch, **limits)
                left[place, case] -= answer["seconds"]
                if answer["rows_per_second"] is None:
                    left[place, case] = 0.0
                else:
                    rates[place].setdefault(case, []).append(answer["rows_per_second"])
            bar.advance(note=worker.name)
    return rates


def taken(rows: Sequence[Row], how_many: int) -> list[Row]:
    """The first so many rows, beginning again where there are not enough."""
    return [rows[position % len(rows)] for position in range(how_many)]


def turned(rows: list[Row], turn: int, *, of: int) -> list[Row]:
    """Begun at another place in every round: a subject that runs out of time sees other texts each time."""
    start = len(rows) * turn // of
    return rows[start:] + rows[:start]
