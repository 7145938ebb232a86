"""How models are timed side by side, for the report and for `limbeck bench`: processes that take turns.

- Every model has its own process (`worker.py`), with its thread pools limited to the number of threads of the case: no
  model shares caches, memory or threads with another, and each number of threads has new processes.
- All are loaded, then each is warmed up while the others wait. The warm-up also measures how long a row takes.
- Then they take turns, round after round, and only one runs at any moment. Other load on the machine slows all of them
  equally, so that ratios hold even if milliseconds do not. In every round another model starts, so that none always
  follows the same one.
- Every turn gives the milliseconds of each call, from text to label. Percentiles are over the calls of all rounds; rows
  per second are the median over the rounds, so that one slow round does not matter.
- A model whose seconds are used up has no more turns; a case whose calls would take too long is not timed, and missing.

The caller chooses texts, cases, seconds and rounds (`CasePlan`): `costs.py` for the report, and `bench.py`.
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
    """A model to time. For a Hugging Face folder, the language and whether it reads pairs are unknown."""

    name: str
    kind: str  # "model" is an exported one; in PyTorch a "teacher", or a "student" of another run; or the "rival"
    folder: Path
    max_length: int | None = None  # default: what its tokenizer or its positions allow
    engine: EngineChoice = "auto"
    is_teacher: bool = False  # what the others are compared with
    language: str | None = None
    pair: bool | None = None

    @property
    def size_mb(self) -> float:
        """The size of its files, in millions of bytes; for a teacher in PyTorch, of its weights."""
        if (self.folder / CARD).is_file():
            return ModelFolder(self.folder).size_mb()
        pattern = "*.safetensors" if self.kind == "teacher" else "*"
        return sum(path.stat().st_size for path in self.folder.rglob(pattern) if path.is_file()) / 1e6

    def load_request(self, *, threads: int) -> dict[str, Any]:
        """The request that loads it in its process."""
        facts = {"kind": self.kind, "folder": str(self.folder), "max_length": self.max_length, "engine": self.engine}
        return {"do": "load", "threads": threads, **facts}


@dataclass(frozen=True)
class Case:
    """Calls of `batch` rows on `threads` threads, with all texts or with the shorter or longer half of them."""

    threads: int
    batch: int
    length: Length | None = None
    shrinks: bool = False  # a slow model gets fewer rows per call, as many as fit in a turn


@dataclass(frozen=True)
class CasePlan:
    """How each turn of a case is run.

    `texts` has the rows of each round. If there are more rounds, later turns continue in the last rows, each model
    where it stopped.
    """

    case: Case
    texts: Sequence[Sequence[Row]]
    seconds: float  # of a turn: no call starts after them
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
        """The total time of all calls."""
        return sum(self.samples_ms) / 1000

    @property
    def rows_per_second(self) -> float:
        """The median over the turns."""
        return median(self.rates)

    def percentile(self, percent: float) -> float:
        """This percentage of the calls takes no more milliseconds."""
        return float(np.percentile(self.samples_ms, percent))

    def add_turn(self, samples_ms: Sequence[float], *, batch: int) -> None:
        """Add the calls of one more turn."""
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
    """The timings of each subject in each case, in order of the subjects. Raises ModelNotTimed if a process dies."""
    found = [TimedModel() for _ in subjects]
    if not subjects:
        return found
    for threads in dict.fromkeys(plan.case.threads for plan in plans):
        own = [plan for plan in plans if plan.case.threads == threads]
        warm_up = rows_for(own[0].texts[0], WARM_UP_ROWS)
        with _ready(subjects, threads=threads, command=command) as workers:
            # Bars of their own: a model is loaded in seconds, and a turn may take milliseconds.
            with reporter.bar("loading models to time", total=len(subjects), unit="models") as bar:
                runners = _warmed_up(workers, found, rows=warm_up, bar=bar)
            with reporter.bar("timing", total=len(subjects) * len(own) * rounds, unit="turns") as bar:
                _take_turns(runners, own, rounds=rounds, bar=bar)
    return found


def rows_for(rows: Sequence[Row], count: int) -> list[Row]:
    """The first `count` rows, repeated from the start if there are not enough."""
    return [rows[position % len(rows)] for position in range(count)]


@dataclass
class _Runner:
    """A process with a model that is loaded and warm."""

    worker: WorkerProcess
    timed: TimedModel
    seconds_per_row: float

    def take_turn(self, number: int, plan: CasePlan, *, place: int, rounds: int) -> None:
        """One turn of the case at index `place` of the plans, in round `number`; skipped if it is not due."""
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

        The first case of a model is always timed: without it, the model would have no timing at all.
        """
        if timing := self.timed.cases.get(plan.case):
            return plan.every_round or timing.seconds < plan.seconds * rounds
        is_first = not self.timed.cases
        return is_first or plan.case.shrinks or self.seconds_per_row * plan.case.batch < plan.most_seconds_per_call


def _take_turns(runners: Sequence[_Runner], plans: Sequence[CasePlan], *, rounds: int, bar: Bar) -> None:
    """Every case of a block in every round, by one model after the other; each round starts with another model.

    The rounds of a case are far apart, with the turns of other cases in between: a slow minute of the machine affects
    one of its rounds, and not all.
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
    """A new process for every subject, all of them loading."""
    with ExitStack() as stack:
        workers = [stack.enter_context(WorkerProcess(one.name, threads=threads, command=command)) for one in subjects]
        for worker, subject in zip(workers, subjects, strict=True):
            worker.send(**subject.load_request(threads=threads))
        yield workers


def _warmed_up(
    workers: Sequence[WorkerProcess], found: Sequence[TimedModel], *, rows: Sequence[Row], bar: Bar
) -> list[_Runner]:
    """Wait until every model is loaded, then warm them up: while others load, a warm-up would measure another speed."""
    for worker, timed in zip(workers, found, strict=True):
        timed.engine = worker.receive()["engine"]
        bar.advance(note=f"{worker.name} loaded")
    return [
        _Runner(worker, timed, seconds_per_row=worker.ask(do="warm_up", rows=list(rows))["seconds_per_row"])
        for worker, timed in zip(workers, found, strict=True)
    ]
