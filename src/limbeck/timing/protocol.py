"""How models are timed side by side, for the report and for `limbeck bench`: processes that take turns.

- Every model has a process of its own (`worker.py`), with its thread pools pinned to the number of threads of the case:
  no model shares caches, memory or threads with another, and each number of threads has fresh processes.
- All are loaded, then each is warmed up while the others wait. The warm-up also tells how long a row takes.
- Then they take turns, round after round, and only one works at any moment. Whatever else the machine does slows all of
  them alike, so that ratios hold where milliseconds do not. In every round another model begins, so that none always
  follows the same one.
- Every turn gives the milliseconds of each call, from text to label. Percentiles are over the calls of all rounds; rows
  per second are the median over the rounds, so that one slow round does not count.
- A model whose seconds are used up has no more turns; a case whose calls would take too long is not timed, and missing.

The caller decides about texts, cases, seconds and rounds (`CasePlan`): `costs.py` for the report, and `bench.py`.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

from limbeck.artifacts.model_folder import CARD, ModelFolder
from limbeck.progress import Bar, Reporter
from limbeck.runtime.engine import EngineChoice
from limbeck.runtime.row import Row
from limbeck.timing.process import WORKER, WorkerProcess

WARM_UP_ROWS = 16

Length = Literal["short", "long"]


@dataclass(frozen=True)
class Subject:
    """What is timed. Of a Hugging Face folder neither the language is known nor whether it reads pairs."""

    name: str
    kind: str  # "model" is an exported one; what runs in PyTorch is a "teacher", or a "student" of another run
    folder: Path
    max_length: int | None = None  # default: what its tokenizer or its positions allow
    engine: EngineChoice = "auto"
    is_teacher: bool = False  # what the others are compared with
    language: str | None = None
    pair: bool | None = None

    @property
    def size_mb(self) -> float:
        """Its files, in millions of bytes; of a teacher in PyTorch its weights."""
        if (self.folder / CARD).is_file():
            return ModelFolder(self.folder).size_mb()
        pattern = "*.safetensors" if self.kind == "teacher" else "*"
        return sum(path.stat().st_size for path in self.folder.rglob(pattern) if path.is_file()) / 1e6

    def load_request(self, *, threads: int) -> dict[str, Any]:
        """What its process has to know."""
        facts = {"kind": self.kind, "folder": str(self.folder), "max_length": self.max_length, "engine": self.engine}
        return {"do": "load", "threads": threads, **facts}


@dataclass(frozen=True)
class Case:
    """Calls of `batch` rows on `threads` threads, with all texts or with the shorter or longer half of them."""

    threads: int
    batch: int
    length: Length | None = None
    shrinks: bool = False  # a slow model is given fewer rows a call, as many as it can do in a turn


@dataclass(frozen=True)
class CasePlan:
    """What each turn of a case is.

    `texts` has the rows of each round. If there are more rounds, later turns walk on through the last rows, each
    model from where it stopped.
    """

    case: Case
    texts: Sequence[Sequence[Row]]
    seconds: float  # of a turn: no call is begun after them
    least_calls: int = 1  # in a turn, even if the seconds are over
    most_calls: int | None = None  # in a turn
    every_round: bool = False  # even if the seconds of all rounds are used up
    most_seconds_per_call: float = inf  # if calls would take longer, the case is not timed
    settling_seconds: float = 0.0  # of calls at the start of a turn that do not count
    block: int = 0  # all rounds of a block come before those of the next one


@dataclass
class Timing:
    """The calls of one model in one case."""

    samples_ms: list[float] = field(default_factory=list)  # of each call
    rates: list[float] = field(default_factory=list)  # rows per second of each turn

    @property
    def seconds(self) -> float:
        """Of all calls together."""
        return sum(self.samples_ms) / 1000

    @property
    def rows_per_second(self) -> float:
        """The median over the turns."""
        return median(self.rates)

    def percentile(self, percent: float) -> float:
        """This percentage of the calls takes no more milliseconds."""
        return float(np.percentile(self.samples_ms, percent))

    def add_turn(self, samples_ms: Sequence[float], *, batch: int) -> None:
        """The calls of one more turn."""
        self.samples_ms.extend(samples_ms)
        self.rates.append(1000 * batch * len(samples_ms) / sum(samples_ms))


@dataclass
class TimedModel:
    """One model: what ran it, and its timings. A case that would have taken too long is missing."""

    engine: str = ""
    cases: dict[Case, Timing] = field(default_factory=dict)


def time_models(
    subjects: Sequence[Subject],
    *,
    plans: Sequence[CasePlan],
    rounds: int,
    reporter: Reporter,
    command: Sequence[str] = WORKER,
) -> list[TimedModel]:
    """What each subject takes in each case, in the order of the subjects. Raises ModelNotTimed if a process dies."""
    found = [TimedModel() for _ in subjects]
    if not subjects:
        return found
    counts = list(dict.fromkeys(plan.case.threads for plan in plans))
    steps = len(counts) + len(plans) * rounds
    with reporter.bar("timing", total=len(subjects) * steps, unit="turns") as bar:
        for threads in counts:
            own = [plan for plan in plans if plan.case.threads == threads]
            warm_up = rows_for(own[0].texts[0], WARM_UP_ROWS)
            with _ready(subjects, threads=threads, command=command) as workers:
                runners = _warmed_up(workers, found, rows=warm_up, bar=bar)
                _take_turns(runners, own, rounds=rounds, bar=bar)
    return found


def rows_for(rows: Sequence[Row], count: int) -> list[Row]:
    """The first `count` rows, beginning again where there are not enough."""
    return [rows[position % len(rows)] for position in range(count)]


@dataclass
class _Runner:
    """A process with a model that is loaded and warm."""

    worker: WorkerProcess
    timed: TimedModel
    seconds_per_row: float

    def take_turn(self, number: int, plan: CasePlan, *, place: int, rounds: int) -> None:
        """One turn of the case at this place among the plans, in round `number`; none if it is not due."""
        if not self._is_due(plan, rounds=rounds):
            return
        batch = plan.case.batch
        if plan.case.shrinks and self.seconds_per_row > 0:
            batch = min(batch, max(int(plan.seconds / self.seconds_per_row), WARM_UP_ROWS))
        answer = self.worker.ask(
            do="turn",
            case=place,
            rows=list(plan.texts[number]) if number < len(plan.texts) else None,
            batch=batch,
            seconds=plan.seconds,
            least_calls=plan.least_calls,
            most_calls=plan.most_calls,
            settling_seconds=plan.settling_seconds,
        )
        self.timed.cases.setdefault(plan.case, Timing()).add_turn(answer["samples_ms"], batch=batch)

    def _is_due(self, plan: CasePlan, *, rounds: int) -> bool:
        """Whether the model has seconds left; and in the first round, whether a call would end in time.

        The first case of a model is timed whatever it takes: without it, nothing at all would be known of the model.
        """
        if timing := self.timed.cases.get(plan.case):
            return plan.every_round or timing.seconds < plan.seconds * rounds
        is_first = not self.timed.cases
        return is_first or plan.case.shrinks or self.seconds_per_row * plan.case.batch < plan.most_seconds_per_call


def _take_turns(runners: Sequence[_Runner], plans: Sequence[CasePlan], *, rounds: int, bar: Bar) -> None:
    """Every case of a block in every round, by one model after the other; each round is begun by the next one.

    A case has its rounds far apart, with the turns of the other cases between them: a slow minute of the machine is in
    one of its rounds, and not in all.
    """
    for block in sorted({plan.block for plan in plans}):
        own = [(place, plan) for place, plan in enumerate(plans) if plan.block == block]
        for number, (place, plan) in product(range(rounds), own):
            start = number % len(runners)
            for runner in [*runners[start:], *runners[:start]]:
                runner.take_turn(number, plan, place=place, rounds=rounds)
                bar.advance(note=runner.worker.name)


@contextmanager
def _ready(subjects: Sequence[Subject], *, threads: int, command: Sequence[str]) -> Iterator[list[WorkerProcess]]:
    """A fresh process for every subject, all of them loading."""
    with ExitStack() as stack:
        workers = [stack.enter_context(WorkerProcess(one.name, threads=threads, command=command)) for one in subjects]
        for worker, subject in zip(workers, subjects, strict=True):
            worker.send(**subject.load_request(threads=threads))
        yield workers


def _warmed_up(
    workers: Sequence[WorkerProcess], found: Sequence[TimedModel], *, rows: Sequence[Row], bar: Bar
) -> list[_Runner]:
    """Every model loaded; only then warmed up, as a warm-up while others load would see another speed than its own."""
    for worker, timed in zip(workers, found, strict=True):
        timed.engine = worker.receive()["engine"]
        bar.advance(note=f"{worker.name} loaded")
    return [
        _Runner(worker, timed, seconds_per_row=worker.ask(do="warm_up", rows=list(rows))["seconds_per_row"])
        for worker, timed in zip(workers, found, strict=True)
    ]
