"""Rows to label next: 200 rows that `limbeck review` chooses, beside 200 random ones, over five seeds on two sets.

    LIMBECK_DATA=path/to/data python benchmarks/review_next.py [--seeds 5] [--go-on] [--out FILE]
    python benchmarks/review_next.py --write-page

Needs arena/hwu64 and arena/tweet_emotion. Of each training file a few hundred rows are labelled, drawn with the seed
(600 of HWU64, 300 of TweetEval's emotions); 2,000 others are the unlabelled text. A run with a linear teacher and a
student of n-grams chooses 200 of these; they get their labels, and a second run, without unlabelled text, is judged on
the test file, as is one with 200 random rows in their place. Small settings, on a CPU: no encoder. --write-page puts
the table into docs/review.md.
"""

import argparse
import csv
import json
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

import limbeck  # noqa: E402
from benchmarks.page_parts import put_between, table  # noqa: E402
from limbeck.pipeline.labels import labelled_run  # noqa: E402
from limbeck.progress import SilentReporter  # noqa: E402
from limbeck.review.next_rows import next_rows  # noqa: E402
from limbeck.review.wrong_labels import LabelNames  # noqa: E402
from limbeck.timing.machine import machine_facts  # noqa: E402

RESULT, PAGE = ROOT / "benchmarks" / "results" / "review_next.json", ROOT / "docs" / "review.md"
START, END = "<!-- next -->", "<!-- /next -->"
LABELLED = {"hwu64": 600, "tweet_emotion": 300}
TITLES = {"hwu64": "HWU64 (64 intents)", "tweet_emotion": "TweetEval emotion (4)"}
POOL, CHOSEN = 2_000, 200
RECIPE = """
[corpus]
train = "train.csv"
test = "test.csv"
split_seed = {seed}
{transfer}
[teacher]
kind = "linear"
near_chance = "warn"
[student]
kind = "ngrams"
[distillation]
seeds = [0]
baseline = false
[export]
precisions = ["fp32"]
[evaluation]
rival = false
latency_rows = 5
throughput_batches = []
bootstrap_samples = 100
"""
TRANSFER = """[transfer]
files = ["pool.csv"]
near_duplicates = 1.0"""
RowList = Sequence[tuple[str, str]]


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--out", type=Path, default=RESULT)
    options.add_argument("--go-on", action="store_true", help="keep the runs that the file of results has")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if asked.write_page:
        put_between(PAGE, page_table(json.loads(RESULT.read_text(encoding="utf-8"))), start=START, end=END)
        return
    runs = json.loads(asked.out.read_text(encoding="utf-8"))["runs"] if asked.out.is_file() and asked.go_on else []
    done = {(run["set"], run["seed"]) for run in runs}
    for name, seed in ((name, seed) for name in LABELLED for seed in range(asked.seeds) if (name, seed) not in done):
        with tempfile.TemporaryDirectory() as scratch:
            runs.append({"set": name, "seed": seed, **one_seed(name, seed, Path(scratch))})
        found = {
            "labelled": LABELLED,
            "pool": POOL,
            "chosen": CHOSEN,
            "teacher": "linear",
            "student": "ngrams",
            "machine": machine_facts(threads=1),
            "runs": runs,
        }
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def one_seed(name: str, seed: int, scratch: Path) -> dict[str, Any]:
    """Accuracy and macro F1 on test: before, with chosen rows, and with random ones."""
    dice = random.Random(seed)
    rows = distinct(read(name, "train"))
    dice.shuffle(rows)
    labelled, pool = rows[: LABELLED[name]], rows[LABELLED[name] : LABELLED[name] + POOL]
    test = read(name, "test")
    first = run_of(scratch / "before", labelled, pool, test, seed=seed)
    run = labelled_run(first)
    naming = LabelNames(run.corpus.labels, "|", run.corpus.unknown_labels, run.corpus.is_multi_label)
    texts = {row.text for row in next_rows(run, count=CHOSEN, naming=naming, reporter=SilentReporter())}
    chosen = [row for row in pool if row[0] in texts]
    ways = {"chosen": chosen, "random": dice.sample(list(pool), len(chosen))}
    found = {"rows": len(chosen), "before": numbers(first)}
    for way, added in ways.items():
        found[way] = numbers(run_of(scratch / way, [*labelled, *added], [], test, seed=seed))
    return found


def read(name: str, split: str) -> list[tuple[str, str]]:
    """(text, label) of a file."""
    with (Path(os.environ["LIMBECK_DATA"]) / "arena" / name / f"{split}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return [(" ".join(row["text"].split()), row["label"]) for row in csv.DictReader(file)]


def distinct(rows: RowList) -> list[tuple[str, str]]:
    """Each text once: a chosen text is to have one label."""
    return list(dict(rows).items())


def run_of(folder: Path, labelled: RowList, pool: RowList, test: RowList, *, seed: int) -> Path:
    """The folder of a finished run; rows of test with a class that no labelled row has count as wrong."""
    folder.mkdir()
    for name, rows in (("train", labelled), ("test", test)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
    with (folder / "pool.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text",), *((text,) for text, _ in pool)])
    recipe = RECIPE.format(seed=seed, transfer=TRANSFER if pool else "")
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    limbeck.run(folder / "recipe.toml", out=folder / "run", reporter=SilentReporter())
    return folder / "run"


def numbers(run: Path) -> dict[str, float]:
    """Of the student, on test."""
    report = json.loads((run / "report" / "report.json").read_text(encoding="utf-8"))
    student = next(line for line in report["models"] if line["role"] == "student")
    return {"accuracy": student["accuracy"], "macro_f1": student["macro_f1"]}


def page_table(found: Mapping[str, Any]) -> str:
    """Mean accuracy of each way, and the difference with its standard deviation, in points."""
    lines = []
    for name, title in TITLES.items():
        runs = [run for run in found["runs"] if run["set"] == name]
        of_ways = [[100 * run[way]["accuracy"] for run in runs] for way in ("before", "random", "chosen")]
        gains = [100 * (run["chosen"]["accuracy"] - run["random"]["accuracy"]) for run in runs]
        wins = sum(gain > 0 for gain in gains)
        lines.append(
            [
                title,
                f"{found['labelled'][name]:,}",
                *(f"{mean(way):.1f}" for way in of_ways),
                f"{mean(gains):+.1f} ± {stdev(gains):.1f}".replace("-", "−"),
                f"{wins} of {len(gains)}",
            ]
        )
    return table(
        ["set", "labelled rows", "before", "with 200 random", "with 200 chosen", "chosen − random", "seeds won"], lines
    )


if __name__ == "__main__":
    main()
