"""Many rows on a Ray cluster of this machine against one process: seconds, overhead, lost workers, a lost driver.

    python -m benchmarks.cluster [--rows 2000000] [--folder DIR] [--out benchmarks/results/cluster.json]

A Bi-LSTM of 150 units in int8 with random weights (benchmarks/runtime_models.py) predicts synthetic rows from Parquet
files, one thread a worker: in this process, then on 1, 2 and 4 workers. Then the same on 2 workers of which one is
ended with SIGKILL every few seconds, and with the whole command ended with SIGKILL when a third is done, and started
again. Every folder is compared with that of the one process, byte for byte. Labels: the same rows through
`labeling.label` with a teacher that costs nothing, here and by workers. Seconds are the commands', starting included;
steady ones are from the first finished piece to the last. On a machine with fewer cores than workers, or with other
work, only ratios mean something.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.label_store import HashTeacher, _machine, write_rows
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.cluster.asking import RayRunner
from limbeck.cluster.workers import Resources, connected
from limbeck.labeling.run import label
from limbeck.labeling.source import TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.labeling import Labeling

FILES, GROUP_ROWS = 16, 1 << 17
SECONDS_BETWEEN_KILLS, SECONDS_BETWEEN_LOOKS = 10.0, 0.5
SEED = 0


def main() -> None:
    """Everything, and write the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, help="where rows and predictions are; default: the temporary one")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--label", choices=["local", "ray"], help="for the processes that measure")
    arguments = parser.parse_args()
    if arguments.label:
        print(json.dumps(labelled(arguments.folder, arguments.label)))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        numbers = measured(Path(name), arguments.rows)
    text = json.dumps({"machine": {**_machine(), "shared": True}, "seed": SEED, **numbers}, indent=1)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n", encoding="utf-8")


def measured(folder: Path, rows: int) -> dict[str, Any]:
    """All measurements."""
    from benchmarks.serving_models import bilstm_folder

    model = bilstm_folder(folder / "model")
    write_files(folder / "rows", rows)
    predict = [sys.executable, "-m", "limbeck", "predict", str(model), str(folder / "rows"), "--threads", "1"]
    alone = _timed([*predict, "--runner", "local", "--out", str(folder / "alone")])
    steady = _steady(folder / "alone")
    found: dict[str, Any] = {
        "rows": rows,
        "one_process_seconds": alone,
        "one_process_steady_seconds": steady,
        "load_average": round(os.getloadavg()[0], 1),
        "workers": {},
    }
    for workers in (1, 2, 4):
        out = folder / f"workers-{workers}"
        seconds = _timed([*predict, *_on_ray(workers), "--out", str(out)])
        found["workers"][workers] = {
            "seconds": seconds,
            "of_one_process": round(seconds / alone, 3),
            "steady_seconds": _steady(out),
            "steady_of_one_process": round(_steady(out) / _steady(folder / "alone"), 3),
            "same_bytes": _is_same(folder / "alone", out),
        }
        print(workers, found["workers"][workers], file=sys.stderr, flush=True)
    found["killed_workers"] = killed_workers([*predict, *_on_ray(2)], folder)
    print(found["killed_workers"], file=sys.stderr, flush=True)
    found["killed_driver"] = killed_driver([*predict, *_on_ray(2)], folder)
    print(found["killed_driver"], file=sys.stderr, flush=True)
    write_rows(folder / "transfer.arrow", rows)
    here, there = (_label(folder, runner) for runner in ("local", "ray"))
    found["labels"] = {
        "one_process_seconds": here["seconds"],
        "two_workers_seconds": there["seconds"],
        "same_labels": here["fingerprint"] == there["fingerprint"],
        "texts_asked": [here["asked"], there["asked"]],
    }
    return found


def write_files(folder: Path, count: int) -> None:
    """Rows of a dozen words in some Parquet files."""
    folder.mkdir()
    dice = random.Random(SEED)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(20_000)]
    for number in range(FILES):
        span = range(count * number // FILES, count * (number + 1) // FILES)
        texts = [" ".join(dice.choices(words, k=dice.randint(6, 18))) for _ in span]
        table = pa.table({"id": list(span), "text": texts})
        pq.write_table(table, folder / f"rows-{number}.parquet", row_group_size=GROUP_ROWS)


def killed_workers(command: list[str], folder: Path) -> dict[str, Any]:
    """The command with a worker ended from time to time."""
    out, killed, dice = folder / "killed", list[int](), random.Random(SEED)

    def kill(driver: psutil.Process) -> None:
        found = _workers_of(driver)
        if found and time.monotonic() - kill.last >= SECONDS_BETWEEN_KILLS:  # type: ignore[attr-defined]
            victim = dice.choice(found)
            victim.kill()
            killed.append(victim.pid)
            kill.last = time.monotonic()  # type: ignore[attr-defined]

    kill.last = time.monotonic()  # type: ignore[attr-defined]
    seconds = _timed([*command, "--out", str(out)], watch=kill)
    return {"seconds": seconds, "killed": len(killed), "same_bytes": _is_same(folder / "alone", out)}


def killed_driver(command: list[str], folder: Path) -> dict[str, Any]:
    """The command ended as a whole, and started again."""
    out = folder / "restarted"
    marks, pieces = out / "_limbeck" / "done", len(list((folder / "alone").glob("*.parquet")))
    with subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL) as driver:
        while (done := len(list(marks.glob("*")))) < pieces // 3 and driver.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        family = psutil.Process(driver.pid).children(recursive=True)
        driver.send_signal(signal.SIGKILL)
    gone, left = psutil.wait_procs(family, timeout=30)  # Ray's processes end when their driver is gone
    for process in left:
        process.kill()
    torn = len(list(out.glob("*.partial")))
    seconds = _timed([*command, "--out", str(out)])
    return {
        "pieces": pieces,
        "done_when_killed": done,
        "processes_that_ended_by_themselves": len(gone),
        "of": len(family),
        "unfinished_files_left": torn,
        "seconds_of_the_rest": seconds,
        "same_bytes": _is_same(folder / "alone", out),
    }


def labelled(folder: Path, runner: str) -> dict[str, Any]:
    """Label the rows, in this process or by two workers."""
    store, out, started = folder / f"store-{runner}", folder / f"labels-{runner}", time.perf_counter()
    if runner == "local":
        labels = _labels(folder, store, out, None)
    else:
        two = Resources(workers=2)
        with connected(None, resources=two) as ray:
            labels = _labels(folder, store, out, RayRunner(ray, two))
    seconds = round(time.perf_counter() - started, 1)
    return {"seconds": seconds, "asked": labels.asking["asked"], "fingerprint": labels.fingerprint}


@dataclass(frozen=True)
class PortableHash:
    """The teacher that costs nothing, for workers."""

    place: Path

    def opened_in(self, folder: Path) -> HashTeacher:
        """It has no files."""
        del folder
        return HashTeacher()


def _labels(folder: Path, store: Path, out: Path, runner: RayRunner | None) -> Any:
    (folder / "teacher").mkdir(exist_ok=True)
    source = TeacherSource("hash", "hash", HashTeacher, portable=PortableHash(folder / "teacher"))
    return label(
        Labeling(),
        rows={"transfer": Rows.load(folder / "transfer.arrow")},
        classes=2,
        multi_label=False,
        sources=[source],
        combine="mean_logits",
        uncovered="stop",
        fingerprint="hash",
        store=store,
        out=out,
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
        runner=runner,
    )


def _label(folder: Path, runner: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.cluster", "--label", runner, "--folder", str(folder)]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return found


def _on_ray(workers: int) -> list[str]:
    return ["--runner", "ray", "--workers", str(workers)]


def _timed(command: list[str], watch: Callable[[psutil.Process], None] = lambda _: None) -> float:
    """Seconds that a command takes, which has to succeed."""
    started, over = time.perf_counter(), threading.Event()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        process = psutil.Process(running.pid)
        while running.poll() is None:
            watch(process)
            over.wait(SECONDS_BETWEEN_LOOKS)
    if running.returncode:
        raise RuntimeError(f"status {running.returncode}: {' '.join(command)}")
    return round(time.perf_counter() - started, 1)


def _workers_of(driver: psutil.Process) -> list[psutil.Process]:
    """Ray's workers among the processes that the driver has started."""
    found = []
    for process in driver.children(recursive=True):
        try:
            if "PredictingWorker" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:  # it has just ended
            continue
    return found


def _steady(out: Path) -> float:
    """Seconds for all pieces, without those in which processes and models start: from the first finished piece on."""
    done = sorted(path.stat().st_mtime for path in (out / "_limbeck" / "done").iterdir())
    return round((done[-1] - done[0]) * len(done) / (len(done) - 1), 1)


def _is_same(first: Path, second: Path) -> bool:
    names = sorted(path.name for path in first.glob("*.parquet"))
    others = sorted(path.name for path in second.glob("*.parquet"))
    return names == others and all(cmp(first / name, second / name, shallow=False) for name in names)


if __name__ == "__main__":
    main()
