"""Labelling a million and five million rows with a teacher that costs nothing: rows a second, and peak memory.

    python benchmarks/label_store.py [--rows 1000000 5000000] [--out benchmarks/results/label_store.json]

Every measurement is a process of its own; rows lie in Arrow files in a temporary folder. Each size is labelled twice:
first every text is asked, then every label is in the store. Memory is to grow by the index alone: 20 bytes a row, and 8
a row for where its label is (or, while the teacher is asked, for the order of the texts).
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.labeling.run import label
from limbeck.labeling.source import TeacherSource
from limbeck.progress import Bar, SilentReporter
from limbeck.recipe.labeling import Labeling

BYTES_A_ROW = 28  # 16 of keys, 4 of their order, 8 of places
WORDS_A_ROW = 12
ROWS_AT_A_TIME = 100_000
SECONDS_BETWEEN_LOOKS = 0.02


class HashTeacher:
    """Two logits from the checksum of a text."""

    def logits(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None,
        *,
        tokens_per_batch: int | None = None,
        bar: Bar | None = None,
    ) -> npt.NDArray[np.float32]:
        """(rows, 2)."""
        del pairs, tokens_per_batch
        logits = np.array([crc32(text.encode()) for text in texts], dtype=np.float32)[:, np.newaxis] / 2**31 - 1
        if bar:
            bar.advance(len(texts))
        return np.concatenate([logits, -logits], axis=1)


def main() -> None:
    """Measure every size, print the table and write the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", type=Path, help="the folder to work in; for the processes that measure")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure)))
        return
    found = [result for count in arguments.rows for result in _both_times(count)]
    numbers = {"machine": _machine(), "runs": found, "growth": _growth(found)}
    print(json.dumps(numbers, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def _both_times(count: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "transfer.arrow", count)
        results = []
        for store in ("empty", "full"):
            command = [sys.executable, __file__, "--measure", name]
            output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            results.append({"store": store, **json.loads(output)})
            print(results[-1], file=sys.stderr, flush=True)
    return results


def write_rows(path: Path, count: int) -> None:
    """So many rows of a dozen words, written some at a time."""
    dice = random.Random(0)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(20_000)]
    schema = Rows.of(ids=[], texts=[]).table.schema
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for start in range(0, count, ROWS_AT_A_TIME):
            numbers = range(start, min(start + ROWS_AT_A_TIME, count))
            texts = [" ".join(dice.choices(words, k=dice.randint(6, 18))) for _ in numbers]
            writer.write_table(Rows.of(ids=[f"transfer:{number}" for number in numbers], texts=texts).table)


def measured(folder: Path) -> dict[str, Any]:
    """Label the rows in this process: seconds, rows a second, peaks of memory in bytes."""
    rows = Rows.load(folder / "transfer.arrow")
    before, started = _memory("RssAnon"), time.perf_counter()
    with _Peak() as peak:
        labels = label(
            Labeling(),
            rows={"transfer": rows},
            classes=2,
            multi_label=False,
            sources=[TeacherSource(name="hash", fingerprint="hash", open=HashTeacher)],
            combine="mean_logits",
            uncovered="stop",
            fingerprint="hash",
            store=folder / "store",
            out=folder / "labels",
            key=Key(section={}, inputs={}),
            reporter=SilentReporter(),
        )
    seconds = time.perf_counter() - started
    return {
        "rows": len(rows),
        "texts_asked": labels.asking["asked"],
        "hit_rate": labels.asking["hit_rate"],
        "seconds": round(seconds, 2),
        "rows_per_second": round(len(rows) / seconds),
        "peak_rss_bytes": _memory("VmHWM"),  # ru_maxrss would begin with the peak of the process that started this one
        "peak_anonymous_bytes": peak.bytes,
        "anonymous_bytes_before": before,
        "index_bytes": BYTES_A_ROW * len(rows),
        "file_bytes": (folder / "transfer.arrow").stat().st_size,
    }


class _Peak:
    """The most anonymous memory that this process had, looked at every few milliseconds."""

    def __init__(self) -> None:
        self.bytes = _memory("RssAnon")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            self.bytes = max(self.bytes, _memory("RssAnon"))

    def __enter__(self) -> "_Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def _memory(kind: str) -> int:
    """Bytes. RssAnon is memory that is no part of a file, which the system cannot take back; VmHWM the peak of all."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


def _growth(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Bytes that a row more costs, from the smallest to the largest size."""
    growth = {}
    for store in ("empty", "full"):
        small, *_, large = [result for result in found if result["store"] == store] * 2
        rows = large["rows"] - small["rows"]
        growth[store] = {
            name: round((large[name] - small[name]) / rows, 1) if rows else None
            for name in ("peak_rss_bytes", "peak_anonymous_bytes", "index_bytes")
        }
    return growth


def _machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return {"cpu": ", ".join(sorted(names)) or platform.processor(), "cores": os.cpu_count()}


if __name__ == "__main__":
    main()
