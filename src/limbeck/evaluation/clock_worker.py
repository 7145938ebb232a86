"""The process that holds one model while it is timed: run with `python -m`, JSON lines in and out."""

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from limbeck.runtime.row import Row, characters

Predict = Callable[[Sequence[Row]], Sequence[object]]  # a label a row, or a list of them

HEAVY_MODULES = ("torch", "transformers", "pyarrow", "sklearn", "matplotlib", "scipy")
TEACHER_BATCH = 32
WARM_UP_SECONDS = 1.0


def main() -> None:
    """Serve until the input ends. The parent decides about Ctrl-C; what libraries print goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, replies, opened=opened)


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


def opened(request: dict[str, Any]) -> Predict:
    """The model or teacher of a `load` request as a function from rows to labels."""
    folder, threads = Path(request["folder"]), int(request["threads"])
    if request["kind"] == "model":
        return open_model(folder, threads=threads)
    pin_torch(threads)
    return open_teacher(folder, max_length=int(request["max_length"]))


def pin_torch(threads: int) -> None:
    """Both of torch's thread pools; it allows this only before its first work."""
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)


def open_model(folder: Path, *, threads: int) -> Predict:
    """An exported model as it ships: the runtime alone, no torch."""
    from limbeck.runtime.classifier import load

    return load(folder, threads=threads).predict


def open_teacher(folder: Path, *, max_length: int) -> Predict:
    """The teacher as people run it: transformers on the CPU in fp32, in batches of rows of similar length."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    model.eval()

    def label_of(rows: Sequence[Row]) -> list[str]:
        columns = [list(rows)] if isinstance(rows[0], str) else [list(column) for column in zip(*rows, strict=True)]
        batch = tokenizer(*columns, truncation=True, max_length=max_length, padding=True, return_tensors="pt")
        return [model.config.id2label[number] for number in model(**batch).logits.argmax(dim=-1).tolist()]

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
