"""The worker process with one model to time: `python -m limbeck.timing.worker`, JSON lines in and out.

Every request is one line, and every answer is one line:

    load     kind, folder, threads, max_length, engine                                     → engine, heavy_modules
    warm_up  rows                                                                          → seconds_per_row
    turn     case, rows, batch, seconds, least_calls, most_calls, settling_seconds         → samples_ms

`load` comes first. A turn without `rows` continues in those of the case's last turn, where that one stopped. An error
ends the process; its traceback goes to stderr, as does everything that libraries print. It exits when its input ends.
"""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import IO, Any

from limbeck.runtime.row import Row, characters, columns_of

Predict = Callable[[Sequence[Row]], Sequence[object]]  # a label per row, or a list of labels

HEAVY_MODULES = ("torch", "transformers", "pyarrow", "sklearn", "matplotlib", "scipy")
TEACHER_BATCH = 32
MOST_TOKENS = 512  # of a teacher whose folder has no limit
WARM_UP_SECONDS = 1.0  # of single rows
LONGEST_WARM_UP_CALL = 5.0  # seconds; a model that would take longer for the batch is warmed up by single rows
LONG_SECONDS = 1.0  # the first call of a case counts if it takes longer: a cold start is a small part of it


@dataclass(frozen=True)
class Opened:
    """A model that is ready to predict, and what runs it."""

    predict: Predict
    engine: str


def main() -> None:
    """Serve until the input ends."""
    serve(*own_streams(), opened=opened)


def own_streams() -> tuple[IO[str], IO[str]]:
    """Requests and replies. The parent handles Ctrl-C; what libraries print goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin, replies


def serve(requests: IO[str], replies: IO[str], *, opened: Callable[[dict[str, Any]], Opened]) -> None:
    """Answer every request line with one reply line."""
    timer: CallTimer | None = None
    for line in requests:
        request = json.loads(line)
        action = request.pop("do")
        reply: dict[str, Any]
        if action == "load":
            model = opened(request)
            timer = CallTimer(model.predict)
            heavy = [name for name in HEAVY_MODULES if name in sys.modules]
            reply = {"engine": model.engine, "heavy_modules": heavy}
        elif timer is None:
            raise ValueError(f"'{action}' was requested before 'load'")
        elif action == "warm_up":
            reply = {"seconds_per_row": timer.warm_up(_rows(request["rows"]))}
        elif action == "turn":
            given = request.pop("rows")
            reply = {"samples_ms": timer.take_turn(rows=None if given is None else _rows(given), **request)}
        else:
            raise ValueError(f"unknown request '{action}'")
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _rows(given: Sequence[Any]) -> list[Row]:
    """JSON has no tuples: a pair arrives as a list."""
    return [row if isinstance(row, str) else (row[0], row[1]) for row in given]


class CallTimer:
    """Times the calls of one model, a turn at a time."""

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self._seconds_per_row = 0.0
        self._texts: dict[int, Iterator[Row]] = {}  # by case: the next rows, in an endless cycle
        self._typical: dict[int, float] = {}  # by case: seconds of a call

    def warm_up(self, rows: Sequence[Row]) -> float:
        """Run single rows and a batch, uncounted; returns the seconds per row of a second batch."""
        end = perf_counter() + WARM_UP_SECONDS
        for row in rows:
            self._seconds_per_row = self._call([row])
            if perf_counter() > end:
                break
        if self._seconds_per_row * len(rows) < LONGEST_WARM_UP_CALL:
            self._call(rows)
            self._seconds_per_row = self._call(rows) / len(rows)
        return self._seconds_per_row

    def take_turn(
        self,
        *,
        case: int,
        rows: Sequence[Row] | None,
        batch: int,
        seconds: float,
        least_calls: int,
        most_calls: int | None,
        settling_seconds: float,
    ) -> list[float]:
        """Milliseconds of every call of `batch` rows, until the seconds are over or `most_calls` is reached."""
        if rows is not None:
            self._texts[case] = cycle(rows)
        texts = self._texts[case]
        self._settle(case, batch, settling_seconds)
        gc.collect()
        samples: list[float] = []
        end = perf_counter() + seconds
        while len(samples) < least_calls or perf_counter() < end:
            samples.append(1000 * self._call(list(islice(texts, batch))))
            if len(samples) == most_calls:
                break
        self._typical[case] = median(samples) / 1000
        return samples

    def _settle(self, case: int, batch: int, seconds: float) -> None:
        """Uncounted calls: the processor's caches have another model's data. Skipped if calls are long."""
        known = self._typical.get(case)
        is_long = known > seconds if known is not None else batch * self._seconds_per_row > LONG_SECONDS
        if not seconds or is_long:
            return
        end = perf_counter() + seconds
        while True:
            self._call(list(islice(self._texts[case], batch)))
            if perf_counter() >= end:
                return

    def _call(self, rows: Sequence[Row]) -> float:
        started = perf_counter()
        self._predict(rows)
        return perf_counter() - started


def opened(request: dict[str, Any]) -> Opened:
    """The model of a `load` request: run by the runtime if it was exported, else by PyTorch."""
    from limbeck.artifacts.model_folder import CARD, ModelFolder, open_model
    from limbeck.runtime.classifier import Classifier

    folder, threads = Path(request["folder"]), int(request["threads"])
    if request["kind"] == "rival":
        from limbeck.judging.rival import ENGINE, open_rival

        return Opened(open_rival(folder), engine=ENGINE)
    if request["kind"] == "model" or (folder / CARD).is_file():
        # A teacher that is an exported student has its files in the teacher's folder.
        model = open_model(folder) if request["kind"] == "model" else ModelFolder(folder)
        classifier = Classifier(model, threads=threads, engine=request["engine"])
        return Opened(classifier.predict, engine=classifier.engine)
    pin_torch(threads)
    is_student = request["kind"] == "student"
    predict = open_student(folder) if is_student else open_teacher(folder, max_length=request["max_length"])
    return Opened(predict, engine="pytorch")


def pin_torch(threads: int) -> None:
    """Limit both of torch's thread pools; it allows this only before its first computation."""
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)


def open_student(folder: Path) -> Predict:
    """A trained student, run like an encoder: in PyTorch on the CPU in fp32, in batches of rows of similar length."""
    import torch
    from transformers import AutoModelForSequenceClassification

    from limbeck.artifacts.student_folder import StudentFolder
    from limbeck.models.auto_classes import register_auto_classes
    from limbeck.models.checkpoint import model_from_folder
    from limbeck.text.student_reader import StudentReader, has_token_types

    register_auto_classes()
    facts = StudentFolder(folder).facts
    is_framed = facts.tokenizer == "framed"
    reader = StudentReader.load(folder / "tokenizer.json", is_framed=is_framed, max_length=facts.max_length)
    network = model_from_folder(AutoModelForSequenceClassification, folder, dtype=torch.float32)
    network.eval()
    with_types = has_token_types(network.config)

    def label_of(rows: Sequence[Row]) -> list[str]:
        columns = columns_of(rows)
        read = reader.read(columns[0], columns[1] if facts.pair else None)
        arrays = read.batch(range(len(rows)), with_types=with_types)
        batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return [facts.labels[number] for number in network(**batch).logits.argmax(dim=-1).tolist()]

    return in_torch_batches(label_of)


def open_teacher(folder: Path, *, max_length: int | None) -> Predict:
    """The teacher as it is usually run: transformers on the CPU in fp32, in batches of rows of similar length.

    Without a `max_length`, texts are truncated at the tokenizer's limit or at the model's number of positions.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from limbeck.models.checkpoint import from_folder, model_from_folder
    from limbeck.models.size import position_count

    tokenizer = from_folder(AutoTokenizer, folder)
    model = model_from_folder(AutoModelForSequenceClassification, folder, dtype=torch.float32)
    model.eval()
    most = max_length or min(tokenizer.model_max_length, position_count(model) or MOST_TOKENS)

    def label_of(rows: Sequence[Row]) -> list[str]:
        batch = tokenizer(*columns_of(rows), truncation=True, max_length=most, padding=True, return_tensors="pt")
        return [model.config.id2label[number] for number in model(**batch).logits.argmax(dim=-1).tolist()]

    return in_torch_batches(label_of)


def in_torch_batches(label_of: Callable[[Sequence[Row]], list[str]]) -> Predict:
    """The rows in batches of similar length, without gradients; labels in the order of the rows."""
    import torch

    def predict(rows: Sequence[Row]) -> list[str]:
        order = sorted(range(len(rows)), key=lambda position: characters(rows[position]))
        labels = [""] * len(rows)
        with torch.inference_mode():
            for start in range(0, len(rows), TEACHER_BATCH):
                positions = order[start : start + TEACHER_BATCH]
                for position, label in zip(positions, label_of([rows[p] for p in positions]), strict=True):
                    labels[position] = label
        return labels

    return predict


if __name__ == "__main__":
    main()
