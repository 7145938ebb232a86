"""One whole run of the product on a GPU, timed from outside: teacher, labels, students, exports.

    LIMBECK_DATA=path/to/data python benchmarks/whole_run.py [--only sst2:text-copies] [--runs DIR] [--out FILE]

The line of benchmarks/tables.py that is named is run from nothing, with no label in store, until its students are
exported. Every half second the GPU is asked how much of its memory is taken and how busy it is: nothing else should
run there, or --beside should say what. `benchmarks/tables.py --write-page` puts the numbers into docs/results.md.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.table_lines import command_of  # noqa: E402
from benchmarks.tables import chosen_lines  # noqa: E402
from limbeck.artifacts.teacher_labels import TeacherLabels  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402
from limbeck.training.device import training_device  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "whole_run.json"
BETWEEN_LOOKS = 0.5  # seconds
OF_TEACHER = ("pretrained", "teachers", "teacher", "labels")  # rooms; those of an ensemble are in "teachers"
LOOK = ["nvidia-smi", "--query-gpu=memory.used,utilization.gpu", "--format=csv,noheader,nounits"]


def main() -> None:
    """Run, watch, write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="sst2:text-copies", help="a line of benchmarks/tables.py")
    options.add_argument("--set", action="append", default=[], help="a key beside those of the line")
    options.add_argument("--runs", type=Path, default=Path("runs/whole"))
    options.add_argument("--out", type=Path, default=RESULTS)
    options.add_argument("--again", action="store_true", help="one more run: keep the first, and put this beside it")
    options.add_argument("--beside", default="", help='what ran on the GPU meanwhile: "two other trainings"')
    asked = options.parse_args()
    lines = list(chosen_lines(asked.only))
    if len(lines) != 1:
        sys.exit("a whole run is of one line: --only TABLE:LINE")
    ((table, line),) = lines
    run = asked.runs / f"{table.name}-{line.name}"
    if asked.runs.exists():
        sys.exit(f"{asked.runs} is there already: what it holds would not be made again, and not be timed")
    command = f"{command_of(line.recipe, [*line.overrides, *asked.set])} --until export"
    first = json.loads(asked.out.read_text(encoding="utf-8")) if asked.again else None
    if first and first["command"] != command:
        sys.exit(f"{asked.out} is of another command: {first['command']}")
    keys = [part for one in (*line.overrides, *asked.set) for part in ("--set", one)]
    words = [sys.executable, "-m", "limbeck", "run", line.recipe, *keys, "--out", str(run), "--until", "export"]
    seconds, looks = watched(words)
    found = {
        "what": "a whole run, from files to exported students",
        "command": command,
        "machine": machine_facts(threads=0),
        "beside": asked.beside,
        **numbers(run, seconds),
        **gpu_numbers(looks),
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    print(json.dumps(found, indent=1))
    result = {**first, "again": [*first.get("again", []), found]} if first else found
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def watched(words: Sequence[str]) -> tuple[float, list[tuple[float, float]]]:
    """Seconds of the command, and what was seen of the GPU meanwhile: megabytes and percent."""
    has_gpu = training_device().type == "cuda" and shutil.which(LOOK[0]) is not None
    looks, started = [], time.perf_counter()
    with subprocess.Popen(words) as process:
        while process.poll() is None:
            if has_gpu:
                seen = subprocess.run(LOOK, capture_output=True, text=True, check=True).stdout.splitlines()[0]
                memory, busy = (float(number) for number in seen.split(","))
                looks.append((memory, busy))
            time.sleep(BETWEEN_LOOKS)
    if process.returncode:
        sys.exit(f"the run ended with status {process.returncode}")
    return time.perf_counter() - started, looks


def numbers(run: Path, seconds: float) -> dict[str, Any]:
    """Where the time went. Students that train at once share theirs: it is what the other stages leave."""
    stages = json.loads((run / "run.json").read_text(encoding="utf-8"))["stages"]
    spent = {name: facts["seconds"] for name, facts in stages.items() if not name.startswith("students/")}
    training = seconds - sum(spent.values())
    read = rows_read(run)
    asking = TeacherLabels(run / "labels").asking
    return {
        "seconds": round(seconds, 1),
        "stages": by_room({**spent, "students": training}),
        "share_of_teacher": round(seconds_of_teacher(spent) / seconds, 3),
        "students": len(read),
        "rows_of_a_student": max(read.values()),
        "training_rows_per_second": round(sum(epochs_of(run, name) * rows for name, rows in read.items()) / training),
        "labelling_rows_per_second": asking["rows_per_second"],
        "rows_asked": asking["asked"],
        "dev_accuracy": dev_accuracy(run),
    }


def rows_read(run: Path) -> dict[str, int]:
    """By student, the rows of an epoch: those alone read train, the others all that was labelled to train on."""
    splits = TeacherLabels(run / "labels").facts["splits"]
    labelled = sum(facts["rows"] for split, facts in splits.items() if split not in ("dev", "test"))
    names = [str(path.parent.relative_to(run)) for path in sorted(run.glob("students/*/*/history.json"))]
    return {name: splits["train"]["rows"] if "-alone/" in name else labelled for name in names}


def epochs_of(run: Path, student: str) -> int:
    """Epochs that it was trained for."""
    return len(json.loads((run / student / "history.json").read_text(encoding="utf-8")))


def dev_accuracy(run: Path) -> dict[str, list[float]]:
    """By kind, the students' best epochs on dev, in the order of their seeds."""
    found: dict[str, list[float]] = {}
    for path in sorted(run.glob("students/*/*/history.json"), key=lambda path: int(path.parent.name)):
        history = json.loads(path.read_text(encoding="utf-8"))
        best = max(epoch["dev_accuracy"] for epoch in history)
        found.setdefault(path.parent.parent.name, []).append(round(best, 4))
    return found


def seconds_of_teacher(spent: Mapping[str, float]) -> float:
    """What it took to train the teacher, or all that there are, and to ask."""
    return sum(seconds for name, seconds in spent.items() if name.partition("/")[0] in OF_TEACHER)


def by_room(spent: Mapping[str, float]) -> dict[str, float]:
    """Seconds of stages, those of one kind together."""
    together: dict[str, float] = {}
    for name, seconds in spent.items():
        room = name.partition("/")[0]
        together[room] = round(together.get(room, 0.0) + seconds, 1)
    return together


def gpu_numbers(looks: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The most memory that was taken, and how busy the GPU was on average; empty without a GPU."""
    if not looks:
        return {}
    return {
        "peak_memory_mb": max(memory for memory, _ in looks),
        "busy_percent": round(statistics.mean(busy for _, busy in looks), 1),
    }


if __name__ == "__main__":
    main()
