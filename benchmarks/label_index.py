"""The index of a label store at a hundred million synthetic keys: time to build, bytes, memory, lookups a second.

    python -m benchmarks.label_index [--keys 1000000 100000000] [--folder DIR] [--out FILE.json]

Every size is a process of its own. Keys are pseudo-random numbers from a seed, as the hashes of texts are, in shards of
rows_per_shard rows; the shards themselves are not written, as they would take twice the disk and their reading is
measured by benchmarks/label_store.py. Looked up are keys of the index and as many that it does not have, at random,
524,288 at a time, as labeling asks. Memory is the peak of the process, pages of the file included.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.label_store import _machine, _memory, _Peak
from limbeck.artifacts.key_file import Records, records_of, write_key_file

ROWS_PER_SHARD = 4096
SHARDS_AT_ONCE = 64
LOOKUPS, AT_ONCE = 1 << 22, 1 << 19
SEED = 0


def main() -> None:
    """Measure every size and write the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000_000, 100_000_000])
    parser.add_argument("--folder", type=Path, help="where the index is written; default: the system's temporary one")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", action="store_true", help="for the processes that measure")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.keys[0], arguments.folder)))
        return
    runs = []
    for count in arguments.keys:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            command = [sys.executable, "-m", "benchmarks.label_index", "--measure", "--keys", str(count)]
            output = subprocess.run([*command, "--folder", folder], capture_output=True, check=True, text=True).stdout
            runs.append(json.loads(output))
            print(runs[-1], file=sys.stderr, flush=True)
    numbers = {"machine": {**_machine(), "shared": True}, "seed": SEED, "runs": runs}
    print(json.dumps(numbers, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def measured(count: int, folder: Path) -> dict[str, Any]:
    """Build the index in this process, then look keys up."""
    before = _memory("VmRSS")
    with _Peak() as building:
        started = time.perf_counter()
        file = write_key_file(folder / "keys.index", _records(count), facts={})
        built = time.perf_counter() - started
    assert len(file) == count, "no key is lost, and pseudo-random ones are distinct"
    peak = _memory("VmHWM")
    _forget_peak()
    with _Peak() as looking:
        started = time.perf_counter()
        found = sum(_found(file, wanted) for wanted in _wanted(count))
        seconds = time.perf_counter() - started
    assert found == LOOKUPS // 2, "every key of the index is found, and no other"
    return {
        "keys": count,
        "bytes": file.path.stat().st_size,
        "bytes_per_key": round(file.path.stat().st_size / count, 2),
        "build_seconds": round(built, 1),
        "keys_built_per_second": round(count / built),
        "lookups": LOOKUPS,
        "lookups_per_second": round(LOOKUPS / seconds),
        "rss_before_bytes": before,
        "peak_rss_bytes_build": peak,
        "peak_anonymous_bytes_build": building.bytes,
        "peak_rss_bytes_lookups": _memory("VmHWM"),
        "peak_anonymous_bytes_lookups": looking.bytes,
    }


def _records(count: int) -> Iterator[Records]:
    rows = ROWS_PER_SHARD * SHARDS_AT_ONCE
    for start in range(0, count, rows):
        keys = _keys(start // rows, min(rows, count - start))
        at = np.arange(start, start + len(keys))
        yield records_of(keys, (at // ROWS_PER_SHARD).astype(np.uint32), (at % ROWS_PER_SHARD).astype(np.uint32))


def _keys(block: int, count: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng([SEED, block]).integers(0, 2**64, size=(count, 2), dtype=np.uint64)


def _wanted(count: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Keys to look up: half of each batch from anywhere in the index, half from nowhere in it."""
    dice, rows = np.random.default_rng(SEED + 2), ROWS_PER_SHARD * SHARDS_AT_ONCE
    for number in range(LOOKUPS // AT_ONCE):
        block = int(dice.integers(0, -(-count // rows)))
        known = _keys(block, min(rows, count - block * rows))
        known = known[dice.integers(0, len(known), size=AT_ONCE // 2)]
        unknown = np.random.default_rng([SEED + 1, number]).integers(0, 2**64, size=known.shape, dtype=np.uint64)
        yield dice.permutation(np.concatenate([known, unknown]))


def _found(file: Any, wanted: npt.NDArray[np.uint64]) -> int:
    return int((file.find(wanted)[0] >= 0).sum())


def _forget_peak() -> None:
    """Begin VmHWM again at what is used now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


if __name__ == "__main__":
    main()
