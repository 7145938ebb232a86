"""What it is worth to start from the general student that comes with the package, in drafts for a file of few rows.

    LIMBECK_DATA=path/to/data python benchmarks/general_start.py [--sets hwu64,mpqa] [--rows 300,1000] [--workers 1]
    python benchmarks/general_start.py --write-page

For every set of LIMBECK_DATA/arena, so many rows of train are drafted as for a machine without a GPU (a GPU, if there
is one, trains the draft). One run starts from `general:english`, as drafts do; the other has the words and vectors of
the teacher, as drafts had before. Both have the same teacher and the same text. They are judged on up to 2,000 other
rows of train: test is not read. Every result is kept at once: a stopped benchmark goes on where it was.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.arena import rows_of, write  # noqa: E402
from benchmarks.page_parts import percents, put_between, table  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULTS, PAGE = ROOT / "benchmarks" / "results" / "general_start.json", ROOT / "docs" / "general.md"
START, END = "<!-- results -->", "<!-- /results -->"
SETS = (
    *("atis", "hwu64", "mpqa", "r8", "snips"),
    *("tweet_emotion", "tweet_hate", "tweet_irony", "tweet_offensive"),
)
JUDGED, SEED = 2_000, 0
VARIANTS = {
    "general": [],
    "teacher's words": [
        'student.start="random"',
        "student.vocabulary.general_words=0",
        "student.vocabulary.teacher_words=20000",
    ],
}
# Nothing is timed here, and nothing is cut to a time: the plan of a busy machine would differ from run to run.
SETTINGS = (
    "minutes=600",
    *('export.precisions=["int8"]', "evaluation.teacher_int8=false", f"distillation.seeds=[{SEED}]"),
    *("evaluation.latency_rows=1", "evaluation.latency_rounds=1", "evaluation.throughput_rows=1"),
)
MODELS = ("bilstm-int8", "blend-int8", "bilstm-alone")


def main() -> None:
    """Run what is missing, or write the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--rows", default="300,1000")
    options.add_argument("--runs", type=Path, default=Path("runs/general-start"))
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return
    data = os.environ.get("LIMBECK_DATA") or sys.exit("Name the folder of the data sets in LIMBECK_DATA.")
    tasks = [(name, int(rows)) for rows in asked.rows.split(",") for name in asked.sets.split(",")]
    with ThreadPoolExecutor(asked.workers) as pool:
        for found in pool.map(lambda task: run_set(task[0], task[1], Path(data), runs=asked.runs), tasks):
            keep(found)


def run_set(name: str, rows: int, data: Path, *, runs: Path) -> list[dict[str, Any]]:
    """Both variants on one set, with one teacher: the second run copies it from the first."""
    folder = (runs / f"{name}-{rows}").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    train, _ = rows_of(data / "arena" / name, str(10**9), seed=SEED)
    write(folder / "train.csv", train[:rows])
    write(folder / "test.csv", train[rows : rows + JUDGED])
    limbeck, hidden = [sys.executable, "-m", "limbeck"], {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    with (folder / "run.log").open("w", encoding="utf-8") as log:
        out: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT, "check": True, "cwd": folder}
        subprocess.run([*limbeck, "init", "train.csv", "--force"], env=hidden, **out)
        found = []
        for variant, keys in VARIANTS.items():
            place = f"runs/{variant.replace(' ', '-')}"
            sets = [word for key in (*SETTINGS, *keys) for word in ("--set", key)]
            subprocess.run([*limbeck, "run", "train.toml", "--out", place, *sets], **out)
            report = json.loads((folder / place / "report" / "report.json").read_text(encoding="utf-8"))
            accuracies = {entry["name"]: entry["accuracy"] for entry in report["models"]}
            entry = {"set": name, "rows": rows, "variant": variant, "shipped": accuracies[report["best"]]}
            entry |= {model: accuracies.get(model) for model in MODELS}
            entry |= {"tfidf": accuracies["tfidf"], "machine": machine_facts(threads=0)["cpu"]}
            entry |= {"teacher": next(one["accuracy"] for one in report["models"] if one["role"] == "teacher")}
            found.append(entry)
    return found


def keep(found: list[dict[str, Any]]) -> None:
    """Add results to the file, in place of earlier ones of the same set."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    new = {(entry["set"], entry["rows"], entry["variant"]): entry for entry in (*kept, *found)}
    RESULTS.write_text(json.dumps([new[key] for key in sorted(new)], indent=1) + "\n", encoding="utf-8")
    for entry in found:
        print(json.dumps(entry), flush=True)


def write_page(results: list[Mapping[str, Any]]) -> None:
    """Put the table between the marks of docs/general.md."""
    lines = []
    for rows in sorted({entry["rows"] for entry in results}):
        here = [entry for entry in results if entry["rows"] == rows]
        sets = sorted({entry["set"] for entry in here})
        for name in ("tfidf", "teacher"):
            lines.append([f"{rows:,}", name, *percents({entry["set"]: entry[name] for entry in here}, sets)])
        for model in (*MODELS, "shipped"):
            for variant in reversed(VARIANTS):
                of_set = {entry["set"]: entry[model] for entry in here if entry["variant"] == variant}
                lines.append([f"{rows:,}", f"{model}, {variant}", *percents(of_set, sets)])
    names = sorted({entry["set"] for entry in results})
    text = table(["rows", "model", *names, "mean"], lines, words=["model"])
    put_between(PAGE, text, start=START, end=END)


if __name__ == "__main__":
    main()
