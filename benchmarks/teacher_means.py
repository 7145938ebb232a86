"""What several fine-tunings of a teacher are worth on few rows: one of them, the mean of their answers or weights.

    LIMBECK_DATA=path/to/data python benchmarks/teacher_means.py [--checkpoint all-MiniLM-L6-v2] [--rate 2e-4]
                                                                 [--rows 300,1000] [--sets hwu64,mpqa] [--workers 4]
    python benchmarks/teacher_means.py --write-page      # the table of docs/teacher.md

For every set of LIMBECK_DATA/arena, so many rows of train are cut, a tenth of them is dev, and the encoder is
fine-tuned three times from the fitted head, as drafts do. What results is judged on up to 1,000 other rows of train:
test is not read. Every result is kept at once: a stopped benchmark goes on where it was.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.arena import SETS  # noqa: E402
from benchmarks.page_parts import put_between, table  # noqa: E402
from benchmarks.teacher_starts import PAGE, answered, cut_corpus  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.recipe.teacher import EncoderTeacher  # noqa: E402
from limbeck.teacher.averaged import APART, mean_of  # noqa: E402
from limbeck.teacher.fine_tune import fine_tune, start_encoder  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402
from limbeck.training.tracks import NO_TRACKS  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "teacher_means.json"
START, END = "<!-- means -->", "<!-- /means -->"
TIMES = 3
WAYS = {
    "one": "one fine-tuning",
    "answers": "three, the mean of their logits",
    "weights": "three, the mean of their weights",
}


def main() -> None:
    """Run what is missing, each set in a process of its own; or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--checkpoint", default="all-MiniLM-L6-v2")
    options.add_argument("--rate", type=float, default=2e-4)
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--rows", default="300,1000")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--one", help="SET,ROWS: this one, in this process")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(kept_in(asked.out))
    elif asked.one:
        name, rows = asked.one.split(",")
        print(json.dumps(run_one(asked, name, int(rows))))
    else:
        run_all(asked)


def run_all(asked: argparse.Namespace) -> None:
    """Every set in a process of its own."""
    known = {key_of(entry) for entry in kept_in(asked.out)}
    tasks = [(name, int(rows)) for rows in asked.rows.split(",") for name in asked.sets.split(",")]
    left = [task for task in tasks if (Path(asked.checkpoint).name, *task) not in known]
    passed = [f"--checkpoint={asked.checkpoint}", f"--rate={asked.rate}"]

    def run(task: tuple[str, int]) -> dict[str, Any]:
        command = [sys.executable, __file__, *passed, f"--one={task[0]},{task[1]}"]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        entry: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return entry

    with ThreadPoolExecutor(asked.workers) as pool:
        for entry in pool.map(run, left):
            entries = {key_of(one): one for one in [*kept_in(asked.out), entry]}
            asked.out.write_text(
                json.dumps([entries[key] for key in sorted(entries)], indent=1) + "\n", encoding="utf-8"
            )
            print(json.dumps(entry), flush=True)


def kept_in(out: Path) -> list[dict[str, Any]]:
    """The results so far."""
    found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
    return found


def key_of(entry: dict[str, Any]) -> tuple[str, str, int]:
    """What tells results apart."""
    return entry["checkpoint"], entry["set"], entry["rows"]


def run_one(asked: argparse.Namespace, name: str, rows: int) -> dict[str, Any]:
    """Fine-tune three times; the accuracies of each alone and of both means."""
    data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
    with tempfile.TemporaryDirectory() as folder:
        corpus = cut_corpus(Path(data) / "arena" / name, rows, folder=Path(folder))
        labels = corpus.splits["test"].labels
        logits, weights = [], []
        for number in range(TIMES):
            teacher = EncoderTeacher(
                checkpoint=asked.checkpoint,
                head="mean",
                epochs=5,
                keep="latest",
                learning_rate=asked.rate,
                max_length=80,
                seed=APART * number,
            )
            encoder = start_encoder(teacher, corpus=corpus)
            with tempfile.TemporaryDirectory() as work:
                rest = {"corpus": corpus, "work": Path(work), "reporter": SilentReporter(), "tracks": NO_TRACKS}
                fine_tune(encoder, teacher, name=name, **rest)  # type: ignore[arg-type]  # of several types
            logits.append(answered(encoder, corpus)["test"])
            weights.append({key: value.cpu().clone() for key, value in encoder.model.state_dict().items()})
        together = answered(encoder, corpus, mean_of(weights))["test"]

        def accuracy(found: Any) -> float:
            return float((found.argmax(1) == labels).mean())

        found = {"one": mean(map(accuracy, logits)), "answers": accuracy(sum(logits)), "weights": accuracy(together)}
    machine = machine_facts(threads=0)
    return {
        "checkpoint": Path(asked.checkpoint).name,
        "set": name,
        "rows": rows,
        "rate": asked.rate,
        "accuracy": {way: round(one, 5) for way, one in found.items()},
        "machine": {key: machine[key] for key in ("cpu", "gpu", "cores") if key in machine},
    }


def write_page(found: list[dict[str, Any]]) -> None:
    """The means over sets, between the marks of the page."""
    columns: dict[tuple[str, int, float], list[dict[str, float]]] = {}
    for entry in found:
        columns.setdefault((entry["checkpoint"], entry["rows"], entry["rate"]), []).append(entry["accuracy"])
    heads = [f"{name}, {rows:,} rows, {rate:g}, {len(ones)} sets" for (name, rows, rate), ones in columns.items()]
    lines = [
        [words, *(f"{100 * mean(one[way] for one in ones):.1f}" for ones in columns.values())]
        for way, words in WAYS.items()
    ]
    put_between(PAGE, table(["teacher", *heads], lines), start=START, end=END)


if __name__ == "__main__":
    main()
