"""The process that holds one model of a bench: run with `python -m`, JSON lines in and out."""

import gc
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import IO, Any

from limbeck.artifacts.model_folder import GRAPH, ModelFolder
from limbeck.runtime.classifier import Classifier
from limbeck.runtime.row import Row
from limbeck.timing import clock_worker

WORKER = (sys.executable, "-m", "limbeck.timing.bench_worker")
LONG_SECONDS = 1.0  # a first call that will take longer is counted
SETTLING_SECONDS = 0.02  # uncounted at the start of a turn: the caches hold what another model has left there


@dataclass(frozen=True)
class Opened:
    """A model that is ready to be asked, and what runs it."""

    predict: clock_worker.Predict
    engine: str


def main() -> None:
    """Serve until the input ends."""
    requests, replies = clock_worker.own_streams()
    serve(requests, replies, opened=opened)


def serve(requests: IO[str], replies: IO[str], *, opened: Callable[[dict[str, Any]], Opened]) -> None:
    """Answer every request line with one reply line: first `load`, then turns. An error ends the process."""
    turns: Turns | None = None
    for line in requests:
        request = json.loads(line)
        if request["do"] == "load":
            model = opened(request)
            turns = Turns(model.predict, [row if isinstance(row, str) else (row[0], row[1]) for row in request["rows"]])
            reply: dict[str, Any] = {"engine": model.engine}
        elif turns is not None and request["do"] == "turn":
            reply = {"samples_ms": turns.take(batch=request["batch"], seconds=request["seconds"])}
        else:
            raise ValueError(f"asked for '{request['do']}' {'' if turns else 'before anything was loaded'}")
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


class Turns:
    """One model going through the texts, over and over, a turn at a time."""

    def __init__(self, predict: clock_worker.Predict, rows: list[Row]) -> None:
        self._predict, self._rows = predict, rows
        self._place: dict[int, int] = {}  # by the rows of a call: the text that comes next
        self._typical: dict[int, float] = {}  # by the rows of a call: its seconds

    def take(self, *, batch: int, seconds: float) -> list[float]:
        """Milliseconds of every call of so many rows, until the seconds are used up; at least one."""
        self._settle(batch)
        gc.collect()
        samples: list[float] = []
        end = perf_counter() + seconds
        while not samples or perf_counter() < end:
            samples.append(1000 * self._call(batch))
        self._typical[batch] = median(samples) / 1000
        return samples

    def _settle(self, batch: int) -> None:
        if self._expected(batch) > (SETTLING_SECONDS if batch in self._typical else LONG_SECONDS):
            return  # a cold start is no part worth speaking of
        end = perf_counter() + SETTLING_SECONDS
        self._call(batch)
        while perf_counter() < end:
            self._call(batch)

    def _expected(self, batch: int) -> float:
        """Seconds of a call, by those of its size, or by the rows of others."""
        by_row = max((seconds / rows for rows, seconds in self._typical.items()), default=0.0)
        return self._typical.get(batch, batch * by_row)

    def _call(self, batch: int) -> float:
        place = self._place.get(batch, 0)
        rows = [self._rows[number % len(self._rows)] for number in range(place, place + batch)]
        self._place[batch] = (place + batch) % len(self._rows)
        started = perf_counter()
        self._predict(rows)
        return perf_counter() - started


def opened(request: dict[str, Any]) -> Opened:
    """The model of a `load` request: by the runtime where it was exported, else by PyTorch."""
    folder, threads = Path(request["folder"]), int(request["threads"])
    if (folder / GRAPH).is_file():
        classifier = Classifier(ModelFolder(folder), threads=threads, engine=request["engine"])
        return Opened(classifier.predict, engine=classifier.engine)
    return Opened(clock_worker.opened(request), engine="pytorch")


if __name__ == "__main__":
    main()
