"""A billion rows on workers that are lost at random: limbeck's own dispatcher on a simulated cluster and clock.

    python -m benchmarks.lost_workers [--out benchmarks/results/lost_workers.json]

No worker runs: a piece takes as long as the measured rate of a student says (benchmarks/results/runtime.json), workers
live for times drawn from an exponential distribution, and a new one is ready after START_SECONDS. What gives the work
out, again after a loss, is limbeck.cluster.workers.Dispatch as it is. Also: what a billion rows cost at the measured
rates, in core hours, GPU hours and bytes.
"""

import argparse
import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from limbeck.cluster.pieces import ROWS_PER_PIECE
from limbeck.cluster.workers import Dispatch, Lost

RESULTS = Path(__file__).parent / "results"
ROWS, WORKERS, START_SECONDS, SEEDS = 1_000_000_000, 64, 20.0, 3
MEAN_LIVES = (None, 3600.0, 600.0, 60.0, 30.0)  # seconds; None: for ever
STUDENT = "Bi-LSTM 150, int8"
KEY_BYTES, CLASSES, INDEX_BYTES = 16, 2, 24


class LostError(Exception):
    """As Ray's errors about workers."""


class TaskError(Exception):
    """As Ray's error about an exception in a worker."""


@dataclass
class SimulatedRay:
    """As much of Ray's module as the dispatcher uses, on a clock of its own."""

    now: float = 0.0
    events: list[tuple[float, int, bool]] = field(default_factory=list)  # time, reference, whether it is lost
    lost: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    exceptions: Any = field(default_factory=lambda: SimpleNamespace(RayError=LostError, RayTaskError=TaskError))
    references: int = 0

    def at(self, time: float, *, is_lost: bool) -> int:
        """A reference of something that happens at this time."""
        self.references += 1
        heapq.heappush(self.events, (time, self.references, is_lost))
        return self.references

    def wait(self, references: Sequence[int], *, num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        """The next of these references."""
        del num_returns, timeout
        known = set(references)
        while True:
            time, reference, is_lost = heapq.heappop(self.events)
            if reference in known:  # others belong to workers that are gone
                self.now = max(self.now, time)
                if is_lost:
                    self.lost.add(reference)
                return [reference], []

    def get(self, reference: int) -> bool:
        """Raises for what is lost."""
        if reference in self.lost:
            raise LostError("the worker died")
        return True


@dataclass
class SimulatedCrew:
    """Workers that need so long for a piece, and live for so long."""

    ray: SimulatedRay
    seconds: float
    mean_life: float | None
    dice: np.random.Generator
    free: dict[int, float] = field(default_factory=dict)
    death: dict[int, float] = field(default_factory=dict)

    def start(self) -> tuple[int, int]:
        """A worker that is ready after a while, unless it dies before."""
        worker, ready = len(self.free), self.ray.now + START_SECONDS
        life = float("inf") if self.mean_life is None else self.dice.exponential(self.mean_life)
        self.free[worker], self.death[worker] = ready, self.ray.now + life
        return worker, self.ray.at(min(ready, self.death[worker]), is_lost=self.death[worker] < ready)

    def give(self, worker: int, work: int) -> int:
        """When the piece is done, or the worker lost."""
        del work
        done = max(self.free[worker], self.ray.now) + self.seconds
        self.free[worker] = done
        return self.ray.at(min(done, self.death[worker]), is_lost=self.death[worker] < done)

    def end(self, worker: int) -> None:
        """Nothing to end."""


def main() -> None:
    """Simulate, and write the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rate = _student_rate()
    numbers = {"cost": cost(rate), "seeds": SEEDS, "workers": WORKERS, "start_seconds": START_SECONDS, "losses": []}
    for mean_life in MEAN_LIVES:
        runs = [simulated(mean_life, ROWS_PER_PIECE / rate, seed) for seed in range(SEEDS)]
        mean = {name: round(float(np.mean([run[name] for run in runs])), 3) for name in runs[0]}
        numbers["losses"].append({"mean_life_seconds": mean_life, **mean})  # type: ignore[attr-defined]
    text = json.dumps(numbers, indent=1)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


def simulated(mean_life: float | None, seconds: float, seed: int) -> dict[str, float]:
    """One run: every piece comes back exactly once."""
    pieces = -(-ROWS // ROWS_PER_PIECE)
    ray = SimulatedRay()
    crew = SimulatedCrew(ray, seconds, mean_life, np.random.default_rng(seed))
    dispatch: Dispatch[int] = Dispatch(ray, crew, WORKERS)
    results = list(dispatch.results(range(pieces)))
    assert sorted(piece for piece, _ in results) == list(range(pieces)), "no piece is lost or double"
    ideal = pieces * seconds / WORKERS
    return {
        "hours": ray.now / 3600,
        "of_ideal": ray.now / ideal,
        "workers_lost": dispatch.lost,
        "pieces_given_up": sum(isinstance(result, Lost) for _, result in results),
    }


def cost(rate: float) -> dict[str, Any]:
    """What a billion rows take at measured rates."""
    labelling = json.loads((RESULTS / "gpu_training.json").read_text(encoding="utf-8"))["labelling"]
    index = json.loads((RESULTS / "label_index.json").read_text(encoding="utf-8"))["runs"][-1]
    return {
        "student": STUDENT,
        "student_rows_per_core_second": round(rate),
        "student_core_hours": round(ROWS / rate / 3600, 1),
        "teacher_rows_per_gpu_second": {one["precision"]: one["rows_per_second"] for one in labelling},
        "teacher_gpu_hours": {one["precision"]: round(ROWS / one["rows_per_second"] / 3600, 1) for one in labelling},
        "label_bytes_per_row": KEY_BYTES + 4 * CLASSES,
        "label_gb": ROWS * (KEY_BYTES + 4 * CLASSES) / 1e9,
        "index_gb": ROWS * INDEX_BYTES / 1e9,
        "index_build_hours": round(ROWS / index["keys_built_per_second"] / 3600, 2),
    }


def _student_rate() -> float:
    """Rows a second on one core, by 256, on the fastest engine."""
    models = json.loads((RESULTS / "runtime.json").read_text(encoding="utf-8"))["times"]["sets"]["mixture"]["models"]
    cases = [case for model in models if model["name"] == STUDENT for case in model["cases"]]
    return max(float(case["rows_per_second"]) for case in cases if case["threads"] == 1 and case["batch"] == 256)


if __name__ == "__main__":
    main()
