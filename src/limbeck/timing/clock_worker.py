"""The process that holds one model while it is timed: run with `python -m`, JSON lines in and out."""

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import IO, Any

from limbeck.runtime.row import Row, characters, columns_of

Predict = Callable[[Sequence[Row]], Sequence[object]]  # a label a row, or a list of them

HEAVY_MODULES = ("torch", "transformers", "pyarrow", "sklearn", "matplotlib", "scipy")
TEACHER_BATCH = 32
MOST_TOKENS = 512  # of a teacher that says nothing about it
WARM_UP_SECONDS = 1.0


def main() -> None:
    """Serve until the input ends."""
    requests, replies = own_streams()
    serve(requests, replies, opened=opened)


def own_streams() -> tuple[IO[str], IO[str]]:
    """Requests and replies. The parent decides about Ctrl-C; what libraries print goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin, replies


def serve(requests: IO[str], replies: IO[str], *, opened: Callable[[dict[str, Any]], Predict]) -> None:
    """Answer every request line with one reply line. The first request is `load`; an error ends the process."""
    predict: Predict | None = None
    seconds_per_row = 0.0
    for line in requests:
        request = json.loads(line)
        rows = [row if isinstance(row, str) else (row[0], row[1]) for row in request.get("rows", ())]
        if request["do"] == "load":
            predict = opened(request)
            reply: dict[str, Any] = {"heavy_modules": [name for name in HEAVY_MODULES if name in sys.modules]}
        elif predict is None:
            raise ValueError(f"asked for '{request['do']}' before anything was loaded")
        elif request["do"] == "warm_up":
            seconds_per_row = warm_up(predict, rows)
            reply = {"seconds_per_row": seconds_per_row}
        elif request["do"] == "latency":
            reply = {"samples_ms": latency(predict, rows, seconds=request["seconds"], least=request["least"])}
        elif request["do"] == "throughput":
            fitting = int(request["seconds"] / seconds_per_row) if seconds_per_row > 0 else len(rows)
            reply = throughput(predict, rows[: max(fitting, request["least"])])
        elif request["do"] == "calls":
            takes_too_long = seconds_per_row * request["batch"] > request["most_seconds"]
            timed = {} if takes_too_long else calls(predict, rows, batch=request["batch"], seconds=request["seconds"])
            reply = {"rows_per_second": None, "seconds": 0.0, **timed}
        else:
            raise ValueError(f"unknown request '{request['do']}'")
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def warm_up(predict: Predict, rows: Sequence[Row]) -> float:
    """Run every path once or more, untimed; then the seconds per row of one batch."""
    started = time.perf_counter()
    for row in rows:
        predict([row])
        if time.perf_counter() - started > WARM_UP_SECONDS:
            break
    predict(rows)
    started = time.perf_counter()
    predict(rows)
    return (time.perf_counter() - started) / len(rows)


def latency(predict: Predict, rows: Sequence[Row], *, seconds: float, least: int) -> list[float]:
    """Milliseconds of each text alone, until the texts or (after `least` of them) the seconds are used up."""
    samples: list[float] = []
    gc.collect()
    deadline = time.perf_counter() + seconds
    for row in rows:
        started = time.perf_counter()
        predict([row])
        ended = time.perf_counter()
        samples.append(1000 * (ended - started))
        if ended > deadline and len(samples) >= least:
            break
    return samples


def throughput(predict: Predict, rows: Sequence[Row]) -> dict[str, float]:
    """Rows per second of one call."""
    gc.collect()
    started = time.perf_counter()
    predict(rows)
    return {"rows_per_second": len(rows) / (time.perf_counter() - started), "rows": len(rows)}


def calls(predict: Predict, rows: Sequence[Row], *, batch: int, seconds: float) -> dict[str, float]:
    """Rows per second of calls of so many rows, one after the other until the seconds are used up; at least one.

    The rows are begun again where they end; what is left of them that makes no whole call is passed over.
    """
    gc.collect()
    started = time.perf_counter()
    for done, start in enumerate(cycle(range(0, len(rows) - batch + 1, batch)), start=1):
        predict(rows[start : start + batch])
        spent = time.perf_counter() - started
        if spent >= seconds:
            return {"rows_per_second": done * batch / spent, "seconds": spent}
    raise ValueError(f"a call of {batch} rows was asked for, and {len(rows)} rows were given")


def opened(request: dict[str, Any]) -> Predict:
    """The model or teacher of a `load` request as a function from rows to labels."""
    folder, threads = Path(request["folder"]), int(request["threads"])
    if request["kind"] == "model":
        return open_model(folder, threads=threads)
    if request["kind"] == "student" and (folder / "model.onnx").is_file():
        return open_exported(folder, threads=threads)
    pin_torch(threads)
    if request["kind"] == "student":
        return open_student(folder)
    return open_teacher(folder, max_length=request["max_length"])


def pin_torch(threads: int) -> None:
    """Both of torch's thread pools; it allows this only before its first work."""
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)


def open_model(folder: Path, *, threads: int) -> Predict:
    """An exported model as it ships: the runtime alone, no torch."""
    from limbeck.runtime.classifier import load

    return load(folder, threads=threads).predict


def open_exported(folder: Path, *, threads: int) -> Predict:
    """The same, where its files stand in the folder of a teacher."""
    from limbeck.artifacts.model_folder import ModelFolder
    from limbeck.runtime.classifier import Classifier

    return Classifier(ModelFolder(folder), threads=threads).predict


def open_student(folder: Path) -> Predict:
    """A trained student as an encoder is run: in PyTorch on the CPU in fp32, in batches of rows of similar length."""
    import torch
    from transformers import AutoModelForSequenceClassification

    from limbeck.artifacts.student_folder import StudentFolder
    from limbeck.models.auto_classes import register_auto_classes
    from limbeck.text.student_reader import StudentReader, has_token_types

    register_auto_classes()
    facts = StudentFolder(folder).facts
    is_framed = facts.tokenizer == "framed"
    reader = StudentReader.load(folder / "tokenizer.json", is_framed=is_framed, max_length=facts.max_length)
    network = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
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
    """The teacher as people run it: transformers on the CPU in fp32, in batches of rows of similar length.

    Without a `max_length`, texts are cut where its tokenizer cuts, or where its positions end.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from limbeck.models.size import position_count

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
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
