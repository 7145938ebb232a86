"""Times models side by side: each in a process of its own, all of the same layout, taking turns."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np

from limbeck.progress import Bar, Reporter
from limbeck.recipe.evaluation import Evaluation
from limbeck.runtime.row import Row

WORKER = (sys.executable, "-m", "limbeck.evaluation.clock_worker")
SECONDS_PER_TURN = 2.5  # a slow teacher is given fewer texts, so that a whole report is timed in half a minute
LEAST_SAMPLES = 10
WARM_UP_ROWS = 16
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
SECONDS_TO_LEAVE = 5.0
STDERR_TAIL_CHARACTERS = 2000


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

    @cached_property
    def p50_ms(self) -> float:
        """The median time of one text."""
        return float(np.percentile(self.samples_ms, 50))

    @cached_property
    def p95_ms(self) -> float:
        """Nineteen texts of twenty take no longer."""
        return float(np.percentile(self.samples_ms, 95))

    @property
    def rows_per_second(self) -> float:
        """The median over the rounds."""
        return float(np.median(self.rates))


class Worker:
    """A process that holds one model and answers one JSON line with another; `with` makes sure that it ends."""

    def __init__(self, name: str, *, threads: int, command: Sequence[str] = WORKER) -> None:
        self.name = name
        self._command, self._threads = list(command), threads

    def __enter__(self) -> Self:
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # closed in __exit__; a pipe could fill up
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=pinned_environment(self._threads),
            encoding="utf-8",
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """A worker leaves when its input ends; after an error, or if it will not, it is killed."""
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                assert pipe is not None
                pipe.close()
            except BrokenPipeError:
                pass  # it is gone already
        try:
            if kind is not None:
                self._process.kill()
            self._process.wait(SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._stderr.close()

    def send(self, **request: Any) -> None:
        """Hand over a request without waiting for the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def receive(self) -> dict[str, Any]:
        """The answer to the oldest request that has none yet. Raises if the worker died over it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._died()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **request: Any) -> dict[str, Any]:
        """Request and answer."""
        self.send(**request)
        return self.receive()

    def _died(self) -> RuntimeError:
        status = self._process.wait()
        self._stderr.seek(0)
        tail = self._stderr.read().decode("utf-8", "replace").strip()[-STDERR_TAIL_CHARACTERS:]
        return RuntimeError(f"the process that times '{self.name}' ended with status {status}:\n{tail}")


def pinned_environment(threads: int) -> dict[str, str]:
    """This process's environment, with every thread pool of a worker set to so many threads, and no network."""
    pins = {variable: str(threads) for variable in THREAD_VARIABLES}
    quiet = {"TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false", "HF_HUB_OFFLINE": "1"}
    return {**os.environ, **pins, **quiet, "PYTHONIOENCODING": "utf-8"}


def time_models(
    section: Evaluation,
    *,
    subjects: Sequence[Subject],
    rows: Sequence[Row],
    reporter: Reporter,
    command: Sequence[str] = WORKER,
) -> list[Timing]:
    """One timing per subject, in their order, over the same texts.

    The subjects take turns, round by round, so that a busy minute of the machine hits all of them alike; only
    one of them works at any moment. Texts are taken from `rows` in their order, from the start again if need be.
    """
    steps = len(subjects) * (1 + 2 * section.latency_rounds)
    with ExitStack() as stack, reporter.bar("timing", total=steps, unit="turns") as bar:
        workers = [
            stack.enter_context(Worker(subject.name, threads=section.threads, command=command)) for subject in subjects
        ]
        for worker, subject in zip(workers, subjects, strict=True):
            worker.send(**_load_request(subject, threads=section.threads))
        for worker in workers:
            worker.receive()
            bar.advance(note=f"{worker.name} loaded")
        for worker in workers:  # only now: while others load, a warm-up would be misled about its own speed
            worker.ask(do="warm_up", rows=taken(rows, WARM_UP_ROWS))
        timings = [Timing(samples_ms=[], rates=[]) for _ in workers]
        for turn in range(section.latency_rounds):
            texts = _turned(taken(rows, section.latency_rows), turn, of=section.latency_rounds)
            batch = _turned(taken(rows, section.throughput_rows), turn, of=section.latency_rounds)
            _one_round(workers, timings, texts=texts, batch=batch, bar=bar)
    return timings


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


def taken(rows: Sequence[Row], how_many: int) -> list[Row]:
    """The first so many rows, beginning again where there are not enough."""
    return [rows[position % len(rows)] for position in range(how_many)]


def _turned(rows: list[Row], turn: int, *, of: int) -> list[Row]:
    """Begun at another place in every round: a subject that runs out of time sees other texts each time."""
    start = len(rows) * turn // of
    return rows[start:] + rows[:start]


def _load_request(subject: Subject, *, threads: int) -> Mapping[str, Any]:
    return {
        "do": "load",
        "kind": subject.kind,
        "folder": str(subject.folder),
        "max_length": subject.max_length,
        "threads": threads,
    }
